// How fast the processes of one server may be started, all its groups together, so that one that dies at once
// does not eat the machine: a pause that doubles while nothing that is started ever answers, and at most one
// start a second while processes die young. docs/limits.md has the rules.
//
// No clock of its own; one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include "config/config.h"

namespace lineward::upstream {

// The pause after so many failures in a row, with jitter.
inline std::chrono::milliseconds backoff_after(const config::Restart& restart, uint32_t failures) {
  using std::chrono::milliseconds;
  if (failures == 0) return milliseconds(0);
  auto wait = restart.backoff * (1ll << std::min(failures - 1, 20u));
  wait = std::min<milliseconds>(wait, restart.max_backoff);
  thread_local std::minstd_rand random{std::random_device{}()};
  return wait * std::uniform_int_distribution<int>(80, 120)(random) / 100;
}

class SpawnBudget {
 public:
  using milliseconds = std::chrono::milliseconds;
  // A process that lived this long did start properly.
  static constexpr milliseconds kStable{10000};
  static constexpr double kBurst = 10;  // young deaths in a row before starts are rationed

  explicit SpawnBudget(const config::Restart& restart) : restart_(restart) {}

  // Until one more may be started; 0: now.
  milliseconds wait(milliseconds now) {
    bool pauses = failures_ > 0 && now < not_before_;
    return std::max(ration(now), pauses ? not_before_ - now : milliseconds(0));
  }
  // The same without the pause that doubles.
  milliseconds ration(milliseconds now) {
    refill(now);
    return tokens_ < 1 ? milliseconds(static_cast<int64_t>((1 - tokens_) * 1000) + 1) : milliseconds(0);
  }

  void started(milliseconds now) {
    refill(now);
    // While nothing that is started answers, one at a time is enough to find out.
    if (failures_ > 0) not_before_ = now + backoff_after(restart_, failures_ + 1);
    if (tokens_ < kBurst / 2) tokens_ -= 1;
  }

  // One ended that was not told to. `answered`: it had answered something.
  void died(milliseconds now, bool answered, milliseconds lived) {
    refill(now);
    if (answered && lived >= kStable) return;
    tokens_ = std::max(0.0, tokens_ - 1);
    if (answered) return;
    // Several that fail together failed once.
    if (failures_ == 0 || now >= died_at_ + restart_.backoff / 2) ++failures_;
    died_at_ = now;
    not_before_ = std::max(not_before_, now + backoff_after(restart_, failures_));
  }

  // One answered for the first time.
  void answered() { failures_ = 0; }
  uint32_t failures() const { return failures_; }

 private:
  void refill(milliseconds now) {
    tokens_ = std::min(kBurst, tokens_ + static_cast<double>((now - refilled_).count()) / 1000);
    refilled_ = now;
  }

  const config::Restart& restart_;
  double tokens_ = kBurst;
  milliseconds refilled_{0};
  uint32_t failures_ = 0;
  milliseconds not_before_{0};
  milliseconds died_at_{0};
};

}  // namespace lineward::upstream
