// How many bytes of other people's data Lineward holds, for listen.maxBufferedBytes: what waits to be
// written, bodies and lines that are not complete yet, requests under way. A sum kept up to date by those who
// hold them, one addition each time: cheap enough for the message path, and it names the cause where resident
// memory does not. Per thread, as everything that holds such bytes is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lineward {

// One holder's part; counts itself out when it is destroyed.
class HeldBytes {
 public:
  HeldBytes() = default;
  ~HeldBytes() { set(0); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  void set(size_t now) {
    Sum& all = sum();
    all.now += static_cast<int64_t>(now) - static_cast<int64_t>(mine_);
    if (all.now > all.most) all.most = all.now;
    mine_ = now;
  }
  void add(size_t more) { set(mine_ + more); }
  size_t mine() const { return mine_; }

  // Of all holders.
  static uint64_t total() { return sum().now > 0 ? static_cast<uint64_t>(sum().now) : 0; }
  // The most there was since this was asked last.
  static uint64_t take_most() {
    const int64_t most = std::exchange(sum().most, sum().now);
    return most > 0 ? static_cast<uint64_t>(most) : 0;
  }

 private:
  struct Sum {
    int64_t now = 0;
    int64_t most = 0;
  };
  static Sum& sum() {
    static thread_local Sum sum;
    return sum;
  }
  size_t mine_ = 0;
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

 private:
  HeldBytes held_;
};

}  // namespace lineward
