// Detects a server that floods Lineward with output that is useless to all clients: more than a burst, and
// then more than a rate. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace lineward::upstream {

template <uint64_t Burst, uint64_t PerSecond>
class Flood {
 public:
  static constexpr uint64_t kBurst = Burst;
  static constexpr uint64_t kPerSecond = PerSecond;

  bool is_over(uint64_t more, std::chrono::milliseconds now) {
    const auto gone = static_cast<uint64_t>(std::max<int64_t>((now - at_).count(), 0));
    at_ = now;
    level_ -= std::min(level_, gone * kPerSecond / 1000);
    level_ += more;
    return level_ > kBurst;
  }

 private:
  uint64_t level_ = 0;
  std::chrono::milliseconds at_{0};
};

// Lines, or events and comments of a stream, that are not messages or belong to no call.
using LineFlood = Flood<10'000, 1'000>;
// Bytes of stderr beyond the logged ones.
using StderrFlood = Flood<64ull << 20, 8ull << 20>;

}  // namespace lineward::upstream
