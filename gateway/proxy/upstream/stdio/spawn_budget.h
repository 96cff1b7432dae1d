// Limits how fast the processes of one server may be started, over all its groups, so that a server that dies
// at once does not overload the machine. Three rules: a doubling pause while no process answers, at most one
// start a second while processes die young, and four a second while processes die after work. So a crash in
// the middle of a call costs the next caller little more than a start. docs/limits.md has the rules.
//
// No clock of its own; one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "config/config.h"
#include "foundation/base/backoff.h"

namespace lineward::upstream {

// The pause after this number of failures in a row, with jitter.
inline std::chrono::milliseconds backoff_after(const config::Restart& restart, uint32_t failures) {
  if (failures == 0) return std::chrono::milliseconds(0);
  return Backoff::jittered(Backoff::exact({restart.backoff, restart.max_backoff}, failures - 1));
}

// Proof that a process had given when it ended.
enum class Proof : uint8_t {
  none,
  answered,  // any answer, such as its handshake
  served,    // it answered a call that is real work: not a handshake, a ping or a list
};

class SpawnBudget {
 public:
  using milliseconds = std::chrono::milliseconds;
  // A process that lived this long started properly.
  static constexpr milliseconds kStable{10000};
  static constexpr double kBurst = 10;  // deaths in a row before starts are rationed
  // Starts a second from then on.
  static constexpr double kAfterYoung = 1;
  static constexpr double kAfterServed = 4;

  explicit SpawnBudget(const config::Restart& restart) : restart_(restart) {}

  // Time until the next start; 0: now.
  milliseconds wait(milliseconds now) {
    bool pauses = failures_ > 0 && now < not_before_;
    return std::max(ration(now), pauses ? not_before_ - now : milliseconds(0));
  }
  // The same without the doubling pause.
  milliseconds ration(milliseconds now) { return std::max(after_young_.wait(now), after_served_.wait(now)); }

  void started(milliseconds now) {
    // While no process answers, one start at a time is enough.
    if (failures_ > 0) not_before_ = now + backoff_after(restart_, failures_ + 1);
    after_young_.started(now);
    after_served_.started(now);
  }

  // A process ended that was not stopped.
  void died(milliseconds now, Proof proof, milliseconds lived) {
    if (proof != Proof::none && lived >= kStable) return;
    if (proof == Proof::served) return after_served_.take(now);
    after_young_.take(now);
    if (proof == Proof::answered) return;
    // Several failures within half a backoff count as one.
    if (failures_ == 0 || now >= died_at_ + restart_.backoff / 2) ++failures_;
    died_at_ = now;
    not_before_ = std::max(not_before_, now + backoff_after(restart_, failures_));
  }

  // A process answered for the first time.
  void answered() { failures_ = 0; }
  uint32_t failures() const { return failures_; }

 private:
  // A token bucket: each death takes a token. A start needs one, and takes it if few are left.
  class Ration {
   public:
    explicit Ration(double a_second) : a_second_(a_second) {}
    milliseconds wait(milliseconds now) {
      refill(now);
      return tokens_ < 1 ? milliseconds(static_cast<int64_t>((1 - tokens_) * 1000 / a_second_) + 1)
                         : milliseconds(0);
    }
    void take(milliseconds now) {
      refill(now);
      tokens_ = std::max(0.0, tokens_ - 1);
    }
    void started(milliseconds now) {
      refill(now);
      if (tokens_ < kBurst / 2) tokens_ = std::max(0.0, tokens_ - 1);
    }

   private:
    void refill(milliseconds now) {
      tokens_ = std::min(kBurst, tokens_ + static_cast<double>((now - refilled_).count()) * a_second_ / 1000);
      refilled_ = now;
    }

    double a_second_;
    double tokens_ = kBurst;
    milliseconds refilled_{0};
  };

  const config::Restart& restart_;
  Ration after_young_{kAfterYoung};
  Ration after_served_{kAfterServed};
  uint32_t failures_ = 0;
  milliseconds not_before_{0};
  milliseconds died_at_{0};
};

}  // namespace lineward::upstream
