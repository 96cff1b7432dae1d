// Bytes of clients' and servers' data that Lineward holds, for listen.maxBufferedBytes: queued writes,
// incomplete bodies and lines, requests under way. Holders update the sum with one addition, which is cheap
// enough for the message path. The sum names the cause of memory use; resident memory does not. Each thread
// batches its counts: the sum may be a few KiB off for each thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "foundation/base/account.h"

namespace lineward {

// The kind of held bytes. Each holder has one kind, so that the kinds add up to the sum.
enum class Held : uint8_t {
  other,
  bodies,     // messages of clients and servers, incomplete or not forwarded yet
  calls,      // requests under way
  queues,     // data waiting to be written, or waiting for a stream
  sessions,   // opening requests and questions of legacy sessions
  servers,    // servers' descriptions of themselves, names, keys of groups
  listens,    // URIs, filters, acknowledgements
  cache,      // cached results
  parked,     // suspended calls that wait for client input
  events,     // kept to resume streams
  plugins,    // messages waiting for verdicts, and plugins' own data
  telemetry,  // spans, metrics and log records waiting to be sent
  count_
};
inline constexpr std::array<std::string_view, static_cast<size_t>(Held::count_)> kHeldNames{
    "other",   "bodies", "calls",  "queues", "sessions", "servers",
    "listens", "cache",  "parked", "events", "plugins",  "telemetry"};

// The bytes of one holder; the destructor subtracts them. May charge a caller's account too.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  explicit MemoryCharge(Held as) : as_(as) {}
  ~MemoryCharge() { set(0); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  void set(size_t now) {
    Sum& here = sum();
    const int64_t change = static_cast<int64_t>(now) - static_cast<int64_t>(mine_);
    here.untold += change;
    here.untold_as[static_cast<size_t>(as_)] += change;
    if (account_ && now != mine_) account_->add(change);
    mine_ = now;
    if (here.untold > kWorthTelling || here.untold < -kWorthTelling) tell(here);
    const int64_t all = told().load(std::memory_order_relaxed) + here.untold;
    if (all > here.most) here.most = all;
  }
  void add(size_t more) { set(mine_ + more); }
  size_t mine() const { return mine_; }
  // Charges this account from now on, including the bytes already held; null: no account.
  void charge(const AccountPtr& account) {
    if (account == account_) return;
    const auto mine = static_cast<int64_t>(mine_);
    if (account_) account_->add(-mine);
    account_ = account;
    if (account_) account_->add(mine);
  }

  // The total of all kinds.
  static uint64_t total() {
    const int64_t all = told().load(std::memory_order_relaxed) + sum().untold;
    return all > 0 ? static_cast<uint64_t>(all) : 0;
  }
  // The total of one kind. The kinds add up to the total once all other threads have flushed their counts and
  // are paused.
  static uint64_t total(Held as) {
    const auto at = static_cast<size_t>(as);
    const int64_t all = told_as()[at].load(std::memory_order_relaxed) + sum().untold_as[at];
    return all > 0 ? static_cast<uint64_t>(all) : 0;
  }
  // The maximum total this thread has seen since the last call.
  static uint64_t take_most() {
    const int64_t most = std::exchange(sum().most, static_cast<int64_t>(total()));
    return most > 0 ? static_cast<uint64_t>(most) : 0;
  }

 private:
  static constexpr int64_t kWorthTelling = 16 * 1024;
  static constexpr size_t kKinds = static_cast<size_t>(Held::count_);
  struct Sum {
    int64_t untold = 0;
    int64_t most = 0;
    std::array<int64_t, kKinds> untold_as{};
  };
  // Flushes all counts together, so that the kinds and the sum are off by the same amount.
  static void tell(Sum& here) {
    told().fetch_add(std::exchange(here.untold, 0), std::memory_order_relaxed);
    for (size_t i = 0; i < kKinds; ++i) {
      if (here.untold_as[i] != 0)
        told_as()[i].fetch_add(std::exchange(here.untold_as[i], 0), std::memory_order_relaxed);
    }
  }
  static std::array<std::atomic<int64_t>, kKinds>& told_as() {
    static std::array<std::atomic<int64_t>, kKinds> sums{};
    return sums;
  }
  static std::atomic<int64_t>& told() {
    static std::atomic<int64_t> sum = 0;
    return sum;
  }
  static Sum& sum() {
    static thread_local Sum sum;
    return sum;
  }
  size_t mine_ = 0;
  Held as_ = Held::other;
  AccountPtr account_;
};

// The same for a number that is counted as it changes.
class HeldCount {
 public:
  HeldCount() = default;
  explicit HeldCount(Held as) : held_(as) {}
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
  MemoryCharge held_;
};

}  // namespace lineward
