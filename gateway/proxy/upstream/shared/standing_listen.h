// The state of a listen, or of a session's GET stream, that stays open as long as it is wanted. It has the
// filter and the part that the server granted, the budget and the pauses of its tries, and whether changes
// may have been missed (behaviour.md 6). It has no clock, no timer and no I/O: its owner opens it and reports
// each event with the time of its loop.
//
// A try is good once it stood for Backoff::kGoodAfter, or brought a requested message. A good try begins the
// budget and the pauses anew. All other tries belong to the loss before them. The changes of a loss are
// reported once. They are reported once more after a good try if the listen was up for a moment in one of the
// other tries.
//
// Only the layer next to the transport opens a lost listen again (layers/listen_hub.h). The layers above it
// get a phase when it is down, and an acknowledgement when it is up.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "foundation/base/backoff.h"

namespace lineward::upstream {

struct NoFilter {};

template <class Asked = NoFilter, class Granted = Asked>
class StandingListen {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr uint32_t kNoLimit = UINT32_MAX;

  // `tries`: how many in a row may fail. `asked`: makes the filter.
  template <class... Args>
  explicit StandingListen(uint32_t tries = kNoLimit, Args&&... asked)
      : asked_(std::forward<Args>(asked)...), tries_(tries) {}

  Asked& asked() { return asked_; }
  const Asked& asked() const { return asked_; }
  // By its last acknowledgement.
  Granted& granted() { return granted_; }
  const Granted& granted() const { return granted_; }

  // It is acknowledged, or its stream is open.
  void up(milliseconds now) {
    if (up_) settle(now);
    up_ = true;
    since_ = now;
    backoff_.stood(now);
  }
  void up(milliseconds now, Granted granted) {
    granted_ = std::move(granted);
    up(now);
  }
  bool is_up() const { return up_; }
  // `resumes`: the next one begins where this one broke off, so nothing is missed.
  enum class Gap : uint8_t { changes, resumes };
  // It is lost, or has ended. True: a new loss begins.
  bool down(milliseconds now, Gap gap = Gap::changes) {
    if (!up_) return false;
    settle(now);
    backoff_.fell(now);
    up_ = false;
    if (gap == Gap::resumes) return false;
    const bool is_new = !std::exchange(same_loss_, true);
    (is_new ? missed_ : missed_more_) = true;
    return is_new;
  }
  // The listen is not wanted for now: that does not count as a loss.
  void withdraw() {
    up_ = false;
    backoff_.reset();
  }
  // A message that was asked for arrived.
  void brought() {
    backoff_.brought();
    if (up_) good();
  }
  // The owner's timer reports that the listen has been up for Backoff::kGoodAfter.
  void lasted() { good(); }
  bool has_lasted(milliseconds now) const { return up_ && now - since_ >= Backoff::kGoodAfter; }
  // The server flooded it: its messages do not prove that it works.
  void spoiled() { backoff_.spoiled(); }

  // Counts a try that failed; `counts` is false for a lack of room, which is not the server's failure. False:
  // the budget is used up.
  bool may_try_again(bool counts = true) {
    if (counts && failures_ <= tries_) ++failures_;
    return failures_ <= tries_;
  }
  // In a row.
  uint32_t failures() const { return failures_; }
  // The pause before the next try.
  milliseconds pause(milliseconds now, const Backoff::Range& range) { return backoff_.pause(now, range); }
  // The budget begins anew without a good try: another caller's credentials are tried.
  void forgive() { failures_ = 0; }
  // A lower layer has used up its budget, which is also the budget of this listen.
  void use_up() { failures_ = tries_ + 1; }

  // Changes may have been missed, even if no new loss began.
  void miss() {
    missed_ = true;
    missed_more_ = false;
  }
  void miss_nothing() { missed_ = missed_more_ = false; }
  // Whether the listen is up, and changes may have been missed that were not reported yet.
  bool owes_changes() const { return up_ && missed_; }
  // The same, but true only once: the caller reports the changes.
  bool take_changes() { return up_ && std::exchange(missed_, false); }

 private:
  void settle(milliseconds now) {
    if (backoff_.is_good(now)) good();
  }
  void good() {
    failures_ = 0;
    same_loss_ = false;
    if (std::exchange(missed_more_, false)) missed_ = true;
  }

  [[no_unique_address]] Asked asked_;
  [[no_unique_address]] Granted granted_{};
  Backoff backoff_;
  uint32_t tries_;
  uint32_t failures_ = 0;
  bool up_ = false;
  milliseconds since_{0};     // when it came up
  bool same_loss_ = false;    // lost, and no try since was good
  bool missed_ = false;       // not reported yet
  bool missed_more_ = false;  // within the same loss: reported when a try is good
};

}  // namespace lineward::upstream
