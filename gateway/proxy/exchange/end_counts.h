// How calls ended in the last hour: a count for each minute and reason. An end costs one addition.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "protocol/mcp/end_reason.h"

namespace lineward::exchange {

class EndCounts {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr size_t kMinutes = 60;
  using Row = std::array<uint32_t, static_cast<size_t>(mcp::EndReason::count_)>;

  void count(mcp::EndReason reason, milliseconds now) {
    Minute& place = places_[minute(now) % kMinutes];
    if (place.number != minute(now)) place = {minute(now), {}};
    ++place.ends[static_cast<size_t>(reason)];
  }

  // `ago` 0: the current minute. Null: nothing ended in that minute.
  const Row* of(size_t ago, milliseconds now) const {
    const uint64_t wanted = minute(now) - ago;
    const Minute& place = places_[wanted % kMinutes];
    return ago < kMinutes && place.number == wanted ? &place.ends : nullptr;
  }

 private:
  // From 1 on: 0 marks an unused slot.
  static uint64_t minute(milliseconds now) { return static_cast<uint64_t>(now.count()) / 60000 + kMinutes; }
  struct Minute {
    uint64_t number = 0;
    Row ends{};
  };
  std::array<Minute, kMinutes> places_{};
};

}  // namespace lineward::exchange
