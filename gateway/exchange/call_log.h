// Calls as people see them: those in flight as views made on demand, the last 256 that ended, and what became
// of those that were cancelled. Cold: a call costs one move into the ring.
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

#include "base/node_slabs.h"
#include "exchange/call_timeline.h"
#include "exchange/call_watcher.h"
#include "exchange/end_counts.h"
#include "mcp/end_reason.h"
#include "mcp/revision.h"
#include "metrics/stats.h"

namespace lineward::exchange {

enum class CallState : uint8_t { queued, starting, running, listening, input, ended };

// A call in flight, at one moment. Texts of clients and servers are as they came, cut to a bound: make them
// printable.
struct CallView {
  std::string id;
  std::string rpc_id;  // as its client wrote it, JSON text
  std::string upstream, method, target, peer, session;
  std::string route;        // the aggregate's path, of a call that came to its upstream by it; else empty
  std::string caller;       // who it is by its credentials, printable; empty: nobody was asked
  std::string client_info;  // JSON text of an Implementation, or empty
  mcp::Era era = mcp::Era::modern;
  std::string revision;
  CallState state = CallState::queued;
  std::chrono::milliseconds age{0};
  std::optional<std::chrono::milliseconds> left;  // until its clock ends it
  std::string limit;                              // the option that will
  std::chrono::milliseconds queued_for{0};
  std::optional<std::chrono::milliseconds> sent_after;  // from its arrival
  std::string progress;                                 // params of the last progress notification, JSON text
  std::optional<std::chrono::milliseconds> progress_ago;
  std::string listens;  // of a listen: its filter, JSON text
  uint64_t events = 0;
  uint32_t questions = 0;  // of the server, not answered yet
  size_t ahead = 0;        // of a queued one: calls of the same upstream before it
  uint64_t bytes_in = 0;
  CallTimeline timeline;
};

struct EndedCall {
  uint64_t tag = 0;
  CallView call;  // as it was at its end; `age` is how long it took
  mcp::EndReason reason = mcp::EndReason::ok;
  int code = 0;
  std::string text;  // of our own error
  uint64_t bytes_out = 0;
  std::chrono::milliseconds ended_at{0};
  bool cancelled = false;
  std::optional<core::CancelReport> cancel;  // nothing: not settled yet
};

class CallLog final : public core::CancelWatcher {
 public:
  static constexpr size_t kMaxEntries = 256;

  // The call of this tag is about to be cancelled.
  void cancelling(uint64_t tag, core::UpstreamStats& stats, core::CancelInitiator initiator);
  // The same for a parked one: its exchange has ended already.
  void cancelling_parked(uint64_t tag, core::UpstreamStats& stats, core::CancelInitiator initiator);
  // The place of a call that has ended, with what is known of its cancel; the rest is of the call that was
  // there.
  EndedCall& next(uint64_t tag);
  void add(EndedCall call);
  const EndedCall* find(const std::string& id) const;
  // The newest last.
  std::vector<const EndedCall*> all() const;

  // Calls `settled` once: now, or when it is known what became of that call's cancel, or with null when the
  // call is forgotten.
  using Settled = std::function<void(const EndedCall*)>;
  void when_settled(const std::string& id, Settled settled);

  // Hears of the cancels that came from another worker, under that one's tags (core/remote_tag.h).
  using Reporter = std::function<void(uint64_t tag, const core::CancelReport& report)>;
  void use_reporter(Reporter reporter) { reporter_ = std::move(reporter); }
  // Hears of every call from here on; null: nobody does.
  void use_watcher(std::shared_ptr<CallWatcher> watcher) { watcher_ = std::move(watcher); }
  CallWatcher* watcher() const { return watcher_.get(); }
  // The place that next() gave is filled.
  void ended(const EndedCall& call) {
    counts_.count(call.reason, call.ended_at);
    if (watcher_) watcher_->ended(call);
  }
  const EndCounts& counts() const { return counts_; }

  void on_cancel_settled(uint64_t tag, const core::CancelReport& report) override;

 private:
  struct Cancel {
    core::UpstreamStats* stats;
    core::CancelInitiator initiator;
    std::optional<core::CancelReport> report;  // came before the call had ended
    bool ended = false;
  };
  void tell(const EndedCall& call);

  std::vector<EndedCall> ring_;
  size_t next_ = 0;
  using Cancels = std::map<uint64_t, Cancel, std::less<>, SlabAllocator<std::pair<const uint64_t, Cancel>>>;
  NodeSlabs nodes_;
  Cancels cancels_{Cancels::allocator_type(nodes_)};  // not settled, or not ended yet
  std::unordered_map<uint64_t, std::vector<Settled>> waiting_;
  Reporter reporter_;
  std::shared_ptr<CallWatcher> watcher_;
  EndCounts counts_;
};

}  // namespace lineward::exchange
