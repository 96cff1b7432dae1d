// Calls as operators see them: views of those in flight, made on demand, the last 256 that ended, and the
// outcomes of cancels. Cold path: a call costs one move into the ring.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "foundation/base/slab_allocator.h"
#include "protocol/mcp/end_reason.h"
#include "protocol/mcp/revision.h"
#include "proxy/exchange/call_timeline.h"
#include "proxy/exchange/end_counts.h"
#include "proxy/metrics/stats.h"

namespace lineward::exchange {

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
  using Reporter = std::function<void(uint64_t tag, const metrics::CancelReport& report)>;
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
