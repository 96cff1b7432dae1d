// Limits log lines that a peer can cause at will. The first few are written at once, then one per second,
// with the number of dropped lines.
//
// Has no clock of its own; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace lineward::log {

class Paced {
 public:
  static constexpr uint32_t kWhole = 5;  // lines after a quiet time
  static constexpr std::chrono::milliseconds kEvery{1000};

  // nullopt: drop this line. Else write it; the value is the number of lines dropped before it.
  std::optional<uint64_t> next(std::chrono::milliseconds now) {
    if (now >= again_at_ + kWhole * kEvery) written_ = 0;
    if (written_ >= kWhole && now < again_at_) {
      ++left_out_;
      return std::nullopt;
    }
    ++written_;
    again_at_ = now + kEvery;
    return std::exchange(left_out_, 0);
  }

 private:
  uint32_t written_ = 0;
  std::chrono::milliseconds again_at_{0};
  uint64_t left_out_ = 0;
};

}  // namespace lineward::log
