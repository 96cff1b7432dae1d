#include "proxy/exchange/call_log.h"

#include <utility>

#include "proxy/core/remote_tag.h"

namespace lineward::exchange {
namespace {

// Cancels that are not settled yet. A process that never answers is ended after its grace, which settles
// them.
constexpr size_t kMaxCancels = 100000;

}  // namespace

void CallLog::note_cancel(uint64_t tag, metrics::UpstreamStats& stats, metrics::CancelInitiator initiator) {
  if (cancels_.size() < kMaxCancels) cancels_.try_emplace(tag, Cancel{&stats, initiator, {}});
}

void CallLog::note_parked_cancel(uint64_t tag, metrics::UpstreamStats& stats,
                                 metrics::CancelInitiator initiator) {
  note_cancel(tag, stats, initiator);
  auto cancel = cancels_.find(tag);
  if (cancel == cancels_.end()) return;
  cancel->second.ended = true;
  for (auto& ended : ring_) {
    if (ended.tag == tag) ended.cancelled = true;
  }
}

// In place: a call is moved once.
EndedCall& CallLog::next(uint64_t tag) {
  bool grows = ring_.size() < kMaxEntries;
  if (grows) {
    ring_.emplace_back();
  } else {
    auto waiting = waiting_.empty() ? waiting_.end() : waiting_.find(ring_[next_].tag);
    if (waiting != waiting_.end()) {
      auto all = std::move(waiting->second);
      waiting_.erase(waiting);
      for (auto& settled : all)
        settled(nullptr);
    }
  }
  EndedCall& slot = grows ? ring_.back() : ring_[next_];
  if (!grows) next_ = (next_ + 1) % kMaxEntries;
  slot.tag = tag;
  slot.cancelled = false;
  slot.cancel.reset();
  auto cancel = cancels_.empty() ? cancels_.end() : cancels_.find(tag);
  if (cancel == cancels_.end()) return slot;
  slot.cancelled = true;
  slot.cancel = cancel->second.report;
  cancel->second.ended = true;
  if (slot.cancel) cancels_.erase(cancel);
  return slot;
}

void CallLog::add(EndedCall call) {
  EndedCall& slot = next(call.tag);
  call.cancelled = slot.cancelled;
  call.cancel = slot.cancel;
  slot = std::move(call);
}

const EndedCall* CallLog::find(const std::string& id) const {
  for (const auto& one : ring_) {
    if (one.call.id == id) return &one;
  }
  return nullptr;
}

std::vector<const EndedCall*> CallLog::all() const {
  std::vector<const EndedCall*> out;
  for (size_t i = 0; i < ring_.size(); ++i)
    out.push_back(&ring_[(next_ + i) % ring_.size()]);
  return out;
}

void CallLog::when_settled(const std::string& id, Settled settled) {
  const EndedCall* found = find(id);
  if (found == nullptr || !found->cancelled || found->cancel) return settled(found);
  waiting_[found->tag].push_back(std::move(settled));
}

void CallLog::on_cancel_settled(uint64_t tag, const metrics::CancelReport& report) {
  if (core::is_remote(tag)) {
    if (reporter_) reporter_(core::caller_of(tag), core::own_tag(tag), report);
    return;
  }
  auto cancel = cancels_.find(tag);
  if (cancel == cancels_.end() || cancel->second.report) return;
  Cancel& one = cancel->second;
  if (report.has_outcome())
    ++one.stats->cancellations[static_cast<size_t>(one.initiator)][static_cast<size_t>(report.outcome)];
  if (!one.ended) {  // it is being cancelled right now
    one.report = report;
    return;
  }
  cancels_.erase(cancel);
  for (auto& ended : ring_) {
    if (ended.tag != tag || !ended.cancelled || ended.cancel) continue;
    ended.cancel = report;
    ended.call.timeline.note(CallStep::settled, ended.call.age + report.after);
    if (watcher_) watcher_({.moment = CallMoment::settled, .ended = &ended});
    return tell(ended);
  }
}

void CallLog::tell(const EndedCall& call) {
  auto waiting = waiting_.find(call.tag);
  if (waiting == waiting_.end()) return;
  auto all = std::move(waiting->second);
  waiting_.erase(waiting);
  for (auto& settled : all)
    settled(&call);
}

}  // namespace lineward::exchange
