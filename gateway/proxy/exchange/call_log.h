// Calls as operators see them: views of those in flight, made on demand, the last 256 that ended, and the
// outcomes of cancels. Cold path: a call costs one move into the ring.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foundation/base/slab_allocator.h"
#include "protocol/mcp/end_reason.h"
#include "protocol/mcp/revision.h"
#include "proxy/exchange/end_counts.h"
#include "proxy/metrics/stats.h"

namespace lineward::exchange {

// The timestamped steps of one call, to diagnose why it hangs or how it ended (docs/admin-api.md).
enum class CallStep : uint8_t {
  arrived,       // its request has arrived completely
  judging,       // policies decide on it
  judged,        // policies have decided
  routed,        // an aggregate has routed it to a member
  queued,        // waits for a free place
  at_capacity,   // waits for a process
  starting,      // waits for its server to start
  sent,          // its server has it
  repeated,      // the request is sent to its server again
  progress,      // a progress notification
  told,          // another notification, or one of a listen
  acknowledged,  // a listen: change notifications begin
  asked,         // the server sends the client a request
  answered,      // the client has answered
  held,          // the client reads too slowly: reading from the server is paused
  released,      // the client has read what was buffered
  answer,        // the server's answer
  cancelling,    // it is cancelled; the server is notified if it has the request
  ended,         // its answer has been handed to the client's stream
  settled,       // the outcome of its cancel is known
  count_
};

constexpr std::string_view name(CallStep step) {
  constexpr std::array<std::string_view, static_cast<size_t>(CallStep::count_)> kNames{
      "arrived", "judging",  "judged",   "routed",     "queued",       "at_capacity", "starting",
      "sent",    "repeated", "progress", "told",       "acknowledged", "asked",       "answered",
      "held",    "released", "answer",   "cancelling", "ended",        "settled"};
  return kNames[static_cast<size_t>(step)];
}

class CallTimeline {
 public:
  using milliseconds = std::chrono::milliseconds;
  struct Mark {
    uint32_t at_ms;    // since the call's arrival
    uint32_t last_ms;  // of repetitions: the last one
    uint32_t times;
    CallStep step;
  };
  static constexpr size_t kFirst = 8, kLast = 8;

  // Unused slots are never read and need no initialisation: most calls have five marks.
  CallTimeline() {}  // NOLINT(modernize-use-equals-default): that would clear them
  CallTimeline(const CallTimeline& other) { *this = other; }
  CallTimeline& operator=(const CallTimeline& other) {
    count_ = other.count_;
    std::copy_n(other.marks_.begin(), size(), marks_.begin());
    return *this;
  }

  void note(CallStep step, milliseconds since_arrival) {
    const uint32_t at = clamped(since_arrival);
    if (count_ > 0) {
      Mark& last = at_place(count_ - 1);
      if (last.step == step) {
        last.last_ms = at;
        ++last.times;
        return;
      }
    }
    at_place(count_++) = {at, at, 1, step};
  }

  size_t size() const { return count_ < kFirst + kLast ? count_ : kFirst + kLast; }
  // The oldest first.
  const Mark& operator[](size_t index) const {
    if (count_ <= kFirst + kLast || index < kFirst) return marks_[index];
    return marks_[kFirst + (count_ - kLast + index - 2 * kFirst) % kLast];
  }
  // Marks that were dropped between the first and the last ones.
  uint64_t left_out() const { return count_ - size(); }
  void clear() { count_ = 0; }

 private:
  static uint32_t clamped(milliseconds time) {
    constexpr auto kMost = std::numeric_limits<uint32_t>::max();
    return time.count() < 0 ? 0 : time.count() > int64_t{kMost} ? kMost : static_cast<uint32_t>(time.count());
  }
  Mark& at_place(uint64_t number) {
    return marks_[number < kFirst ? number : kFirst + (number - kFirst) % kLast];
  }

  std::array<Mark, kFirst + kLast> marks_;
  uint64_t count_ = 0;
};

enum class CallState : uint8_t { queued, starting, running, listening, input, ended };

// A snapshot of a call in flight. Texts of clients and servers are unmodified, cut to a bound: sanitise them
// before output.
struct CallView {
  std::string id;
  std::string rpc_id;  // as its client wrote it, JSON text
  std::string upstream, method, target, peer, session;
  std::string route;        // for a call through an aggregate: the aggregate's path; else empty
  std::string caller;       // the authenticated caller, printable; empty: no authentication
  std::string client_info;  // JSON text of an Implementation, or empty
  mcp::Era era = mcp::Era::modern;
  std::string revision;
  CallState state = CallState::queued;
  std::chrono::milliseconds age{0};
  std::optional<std::chrono::milliseconds> left;  // until its clock ends it
  std::string limit;                              // the option that sets this limit
  std::chrono::milliseconds queued_for{0};
  std::optional<std::chrono::milliseconds> sent_after;  // since its arrival
  std::string progress;                                 // params of the last progress notification, JSON text
  std::optional<std::chrono::milliseconds> progress_ago;
  std::string listens;  // for a listen: its filter, JSON text
  uint64_t events = 0;
  uint32_t questions = 0;  // open requests of the server
  size_t ahead = 0;        // for a queued call: calls of the same upstream ahead of it
  uint64_t bytes_in = 0;
  CallTimeline timeline;
};

struct EndedCall {
  uint64_t tag = 0;
  CallView call;  // as at its end; `age` is its duration
  mcp::EndReason reason = mcp::EndReason::ok;
  int code = 0;
  std::string text;  // of Lineward's own error
  uint64_t bytes_out = 0;
  std::chrono::milliseconds ended_at{0};
  bool cancelled = false;
  std::optional<metrics::CancelReport> cancel;  // nullopt: not settled yet
};

class Exchange;

enum class CallMoment : uint8_t {
  begin,     // it has started
  phase,     // it waits for something else now, or its server has it
  progress,  // its server has sent a notification
  cancel,    // it is being cancelled
  end,       // it has ended
  settled    // the outcome of its cancel is known
};
struct CallEvent {
  CallMoment moment{};
  const Exchange* exchange = nullptr;  // in flight; null from `end` on
  const EndedCall* ended = nullptr;    // from `end` on, else null
};
// Receives the events of a worker's calls while an observer is connected
// (operate/admin/call_event_publisher.h). Called on the worker's thread, in the middle of its work: it only
// reads, and calls nothing. Empty: a call costs one check.
using CallWatcher = std::function<void(const CallEvent&)>;

class CallLog final : public metrics::CancelWatcher {
 public:
  static constexpr size_t kMaxEntries = 256;

  // The call of this tag is about to be cancelled.
  void note_cancel(uint64_t tag, metrics::UpstreamStats& stats, metrics::CancelInitiator initiator);
  // The same for a parked one: its exchange has ended already.
  void note_parked_cancel(uint64_t tag, metrics::UpstreamStats& stats, metrics::CancelInitiator initiator);
  // The slot for a call that has ended, filled in only with what is known of its cancel. All other members
  // still hold an older call's values.
  EndedCall& next(uint64_t tag);
  void add(EndedCall call);
  const EndedCall* find(const std::string& id) const;
  // Oldest first.
  std::vector<const EndedCall*> all() const;

  // Calls `settled` once: now, or when the outcome of that call's cancel is known, or with null when the call
  // is dropped from the ring.
  using Settled = std::function<void(const EndedCall*)>;
  void when_settled(const std::string& id, Settled settled);

  // Receives the outcomes of cancels that came from another worker, by that worker's tags
  // (proxy/core/remote_tag.h).
  using Reporter = std::function<void(size_t worker, uint64_t tag, const metrics::CancelReport& report)>;
  void use_reporter(Reporter reporter) { reporter_ = std::move(reporter); }
  // Receives every call from here on; empty: none.
  void use_watcher(CallWatcher watcher) { watcher_ = std::move(watcher); }
  void watch(CallMoment moment, const Exchange& exchange) const {
    if (watcher_) watcher_({.moment = moment, .exchange = &exchange});
  }
  // The slot returned by next() is filled.
  void ended(const EndedCall& call) {
    counts_.count(call.reason, call.ended_at);
    if (watcher_) watcher_({.moment = CallMoment::end, .ended = &call});
  }
  const EndCounts& counts() const { return counts_; }

  void on_cancel_settled(uint64_t tag, const metrics::CancelReport& report) override;

 private:
  struct Cancel {
    metrics::UpstreamStats* stats;
    metrics::CancelInitiator initiator;
    std::optional<metrics::CancelReport> report;  // arrived before the call had ended
    bool ended = false;
  };
  void tell(const EndedCall& call);

  std::vector<EndedCall> ring_;
  size_t next_ = 0;
  using Cancels = std::map<uint64_t, Cancel, std::less<>, SlabAllocator<std::pair<const uint64_t, Cancel>>>;
  Slabs nodes_;
  Cancels cancels_{Cancels::allocator_type(nodes_)};  // not settled, or not ended yet
  std::unordered_map<uint64_t, std::vector<Settled>> waiting_;
  Reporter reporter_;
  CallWatcher watcher_;
  EndCounts counts_;
};

}  // namespace lineward::exchange
