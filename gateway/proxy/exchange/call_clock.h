// The time limits of a call: its phases, the time spent in each, and the one timer that ends it
// (docs/behaviour.md 4).
//
// A member of its exchange. It runs once limits are set (use_limits()), and is rearmed whenever something
// changes that a limit depends on. After stop() it never fires; later events are only recorded. It reports an
// expired limit to `Rings`, from the loop; the exchange decides what to do, and may destroy the clock there.
//
// Errors: none of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "protocol/mcp/end_reason.h"
#include "proxy/core/upstream.h"
#include "proxy/exchange/call_log.h"

namespace lineward::exchange {

class CallClock {
 public:
  using milliseconds = std::chrono::milliseconds;
  // The limit that expired.
  struct Due {
    mcp::EndReason reason{};
    milliseconds limit{0};
    std::string_view option;                          // the name of the limit
    core::CallPhase phase = core::CallPhase::queued;  // for queue_full: what it waited for
  };
  using Rings = std::function<void(const Due& due)>;
  // A member's response for a merged answer ends by itself. That takes at most the largest configurable queue
  // and start times (limits.queueTimeout and timeouts.startup, a day each) plus aggregate.partTimeout (an
  // hour). This limit only guards against bugs, and is never shown.
  static constexpr milliseconds kMaxPart{(24 + 24 + 1) * 3600 * 1000};

  CallClock(net::Loop& loop, mcp::Method method, Rings rings);

  // Sets the limits from here on: the call's own, and that of its server's queue, which a reload may change
  // at any time. `server` must live until it is replaced. A running timer changes with rearm() only.
  void use_limits(const config::Timeouts& limits, const config::Server& server);
  const config::Timeouts& limits() const { return limits_; }
  // Starts the timer for the earliest limit.
  void rearm();
  void stop();

  // Plugins begin, and finish, deciding on the request.
  void plugins_decide();
  void plugins_decided();
  // False if it is in this phase already.
  bool enter(core::CallPhase phase);
  // A parked call continues. `spent`: its time with its server so far.
  void go_on(milliseconds spent);
  void progressed();
  // The server waits for the client's answer to a request; each one is answered once.
  void asked();
  void answered();
  // The server's final message has arrived, and a plugin holds it. The plugin has a limit of its own:
  // timeouts.request no longer applies.
  void server_is_done();
  // Stops, and resumes, reading from the server while the client is slow. release() is false if it was not
  // held.
  void hold();
  bool release();

  // Records another step for the timeline.
  void mark(CallStep step) { timeline_.note(step, elapsed()); }
  const CallTimeline& timeline() const { return timeline_; }

  milliseconds elapsed() const { return loop_.now() - started_; }
  bool in_first_turn() const { return loop_.now() == started_; }
  milliseconds queued_for() const { return queued_for_; }  // total, before this phase
  bool is_held() const { return held_; }
  bool is_written() const { return phase_ == core::CallPhase::written; }
  // True also while it waits for its server again.
  bool was_written() const { return written_at_.count() != 0; }
  bool is_queued() const { return core::waits_in_line(phase_) && open_questions_ == 0; }
  // Time since it was written; nullopt before that.
  std::optional<milliseconds> at_server() const;
  // The same, without the time during which a question waited for the client.
  milliseconds spent() const { return loop_.now() - written_at_ - waited_; }
  std::optional<milliseconds> sent_after() const;
  milliseconds progress_ago() const { return loop_.now() - progressed_at_; }  // valid if there was any
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
  milliseconds progressed_at_{0};  // of the last progress notification; 0: none yet
  milliseconds written_at_{0};     // first time; a repeated request keeps it
  milliseconds waited_{0};         // total time with open questions since written
  milliseconds question_since_{0};
  milliseconds queued_for_{0};    // total, before this phase
  milliseconds starting_for_{0};  // likewise
  milliseconds held_since_{0};
  milliseconds due_at_{0};    // when the call ends; 0: never
  milliseconds rings_at_{0};  // when the timer fires, at or before due_at_
  CallTimeline timeline_;
};

}  // namespace lineward::exchange
