// How long a call may take: its phases, what each has cost, and the one timer that ends it (docs/behaviour.md
// 4).
//
// A member of its exchange. It runs once there are limits (use()) and is set anew whenever something changes
// that a limit depends on; after stop() it never rings again, and what is told to it is only remembered.
// Where a limit has run out it says which one to `Rings`, from the loop; what becomes of the call is decided
// there, and the clock may end with the exchange.
//
// Errors: none of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "config/config.h"
#include "core/upstream.h"
#include "exchange/call_log.h"
#include "exchange/call_timeline.h"
#include "mcp/end_reason.h"
#include "net/loop.h"

namespace lineward::exchange {

class CallClock {
 public:
  using milliseconds = std::chrono::milliseconds;
  // What it means that the clock runs out.
  struct Due {
    mcp::EndReason reason{};
    milliseconds limit{0};
    std::string_view option;                          // the name of the limit
    core::CallPhase phase = core::CallPhase::queued;  // of queue_full: for what it waited
  };
  using Rings = std::function<void(const Due& due)>;
  // A part of a merged answer ends itself, and cannot take longer: the most that a configuration may give to
  // its server's line and start (limits.queueTimeout and timeouts.startup, a day each), then
  // aggregate.partTimeout (an hour). A limit of that length is there for what nobody has thought of, and is
  // shown to nobody.
  static constexpr milliseconds kMaxPart{(24 + 24 + 1) * 3600 * 1000};

  CallClock(net::Loop& loop, mcp::Method method, Rings rings);

  // The limits from here on: the call's own, and that of its server's queue, which a reload may change at any
  // time. `server` is there until another is used. What runs is set anew by rearm().
  void use_limits(const config::Timeouts& limits, const config::Server& server);
  const config::Timeouts& limits() const { return limits_; }
  // Looks at what runs out first.
  void rearm();
  void stop();

  // Plugins take their time with the request; they are done with it.
  void plugins_decide();
  void plugins_decided();
  // False when it is in this phase already.
  bool enter(core::CallPhase phase);
  // A call that was parked goes on, after `spent` with its server.
  void go_on(milliseconds spent);
  void progressed();
  // The server waits for the client's answer to a question: each one is answered once.
  void asked();
  void answered();
  // Its last message came, and is with a plugin, which has a limit of its own: timeouts.request is kept.
  void server_is_done();
  // The server is not read from until the client has taken what waits; release() is false when it was not
  // held.
  void hold();
  bool release();

  // Something else that happened to it, for people.
  void mark(CallStep step) { timeline_.note(step, elapsed()); }
  const CallTimeline& timeline() const { return timeline_; }

  milliseconds elapsed() const { return loop_.now() - started_; }
  bool in_first_turn() const { return loop_.now() == started_; }
  milliseconds queued_for() const { return queued_for_; }  // in all, before this phase
  bool is_held() const { return held_; }
  bool is_written() const { return phase_ == core::CallPhase::written; }
  // Or was, before it began to wait for its server once more.
  bool was_written() const { return written_at_.count() != 0; }
  bool is_queued() const { return core::waits_in_line(phase_) && open_questions_ == 0; }
  // Since its server has it; nothing before that.
  std::optional<milliseconds> at_server() const;
  // Of that, without the time in which the client was asked.
  milliseconds spent() const { return loop_.now() - written_at_ - waited_; }
  std::optional<milliseconds> sent_after() const;
  milliseconds progress_ago() const { return loop_.now() - progressed_at_; }  // where there was any
  void show(CallView& view) const;

 private:
  void arm(milliseconds in, const Due& due);
  void arm_written();
  void ring();

  net::Loop& loop_;
  const bool is_listen_;
  const Rings rings_;
  net::Timer timer_;
  config::Timeouts limits_;  // of this call: the server's, then its method's, then its tool's
  const config::Server* server_ = nullptr;
  bool stopped_ = false;
  bool plugins_decide_ = false;
  bool held_ = false;
  bool server_done_ = false;
  core::CallPhase phase_ = core::CallPhase::queued;
  uint32_t open_questions_ = 0;
  Due due_;
  const milliseconds started_;
  milliseconds phase_since_;
  milliseconds request_since_{0};  // when the request clock was started last
  milliseconds progressed_at_{0};  // what the server said last of its progress; 0: nothing yet
  milliseconds written_at_{0};     // first; when it is sent once more its time goes on
  milliseconds waited_{0};         // total time with open questions since written
  milliseconds question_since_{0};
  milliseconds queued_for_{0};    // in all, before this phase
  milliseconds starting_for_{0};  // likewise
  milliseconds held_since_{0};
  milliseconds due_at_{0};    // when the clock ends it; 0: never
  milliseconds rings_at_{0};  // when it looks, at the latest then
  CallTimeline timeline_;
};

}  // namespace lineward::exchange
