// How many bytes of other people's data Lineward holds, for listen.maxBufferedBytes: what waits to be
// written, bodies and lines that are not complete yet, requests under way. A sum kept up to date by those who
// hold them, one addition each time: cheap enough for the message path, and it names the cause where resident
// memory does not. Each thread keeps what it counted to itself until that is worth telling: with several the
// sum is a few KiB off for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/account.h"

namespace lineward {

// One holder's part; counts itself out when it is destroyed. Counts for a caller too, where it is told which.
class HeldBytes {
 public:
  HeldBytes() = default;
  ~HeldBytes() { set(0); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  void set(size_t now) {
    Sum& here = sum();
    here.untold += static_cast<int64_t>(now) - static_cast<int64_t>(mine_);
    if (account_ && now != mine_) account_->add(static_cast<int64_t>(now) - static_cast<int64_t>(mine_));
    mine_ = now;
    if (here.untold > kWorthTelling || here.untold < -kWorthTelling)
      told().fetch_add(std::exchange(here.untold, 0), std::memory_order_relaxed);
    const int64_t all = told().load(std::memory_order_relaxed) + here.untold;
    if (all > here.most) here.most = all;
  }
  void add(size_t more) { set(mine_ + more); }
  size_t mine() const { return mine_; }
  // From here on it counts for this caller, all that there is already; null: for none.
  void charge(const AccountPtr& account) {
    if (account == account_) return;
    const auto mine = static_cast<int64_t>(mine_);
    if (account_) account_->add(-mine);
    account_ = account;
    if (account_) account_->add(mine);
  }

  // Of all holders.
  static uint64_t total() {
    const int64_t all = told().load(std::memory_order_relaxed) + sum().untold;
    return all > 0 ? static_cast<uint64_t>(all) : 0;
  }
  // The most that this thread saw since it asked last.
  static uint64_t take_most() {
    const int64_t most = std::exchange(sum().most, static_cast<int64_t>(total()));
    return most > 0 ? static_cast<uint64_t>(most) : 0;
  }

 private:
  static constexpr int64_t kWorthTelling = 16 * 1024;
  struct Sum {
    int64_t untold = 0;
    int64_t most = 0;
  };
  static std::atomic<int64_t>& told() {
    static std::atomic<int64_t> sum = 0;
    return sum;
  }
  static Sum& sum() {
    static thread_local Sum sum;
    return sum;
  }
  size_t mine_ = 0;
  AccountPtr account_;
};

// The same as a number that is counted as it changes.
class HeldCount {
 public:
  HeldCount& operator+=(size_t more) {
    held_.set(held_.mine() + more);
    return *this;
  }
  HeldCount& operator-=(size_t less) {
    held_.set(held_.mine() - less);
    return *this;
  }
  HeldCount& operator=(size_t now) {
    held_.set(now);
    return *this;
  }
  operator size_t() const { return held_.mine(); }
  void charge(const AccountPtr& account) { held_.charge(account); }

 private:
  HeldBytes held_;
};

}  // namespace lineward
