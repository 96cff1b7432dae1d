// Pauses between attempts at one thing (reopening a stream, repeating a listen). Each pause doubles up to the
// longest, with 20 % jitter, so that clients of one lost server do not reconnect together. A good attempt
// resets the pauses: one that lasted kGoodAfter, or delivered the message it was made for.
//
// Has no clock of its own; one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace lineward {

class Backoff {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds kGoodAfter{10000};
  static constexpr milliseconds kLongest{60000};
  struct Range {
    milliseconds first{1000};
    milliseconds longest = kLongest;
  };

  // The attempt succeeded: its stream is open, or its listen is acknowledged.
  void stood(milliseconds now) {
    stands_ = true;
    brought_ = false;
    since_ = now;
  }
  // The attempt no longer stands, and its owner may not retry by itself.
  void fell(milliseconds now) { stands_ = brought_ = is_good(now); }
  // A message arrived that the attempt was made for.
  void brought() { brought_ = stands_; }
  bool is_good(milliseconds now) const { return stands_ && (brought_ || now - since_ >= kGoodAfter); }
  // The attempt was not good, whatever arrived.
  void spoiled() { stands_ = brought_ = false; }
  // The attempt ended or failed: returns the pause before the next one.
  milliseconds pause(milliseconds now, const Range& range) {
    if (is_good(now)) tries_ = 0;
    stands_ = false;
    return doubled(range, tries_++);
  }
  // Forgets all earlier attempts.
  void reset() {
    tries_ = 0;
    stands_ = false;
  }
  // Consecutive attempts that were not good.
  uint32_t tries() const { return tries_; }

  // The pause after `times` earlier pauses.
  static milliseconds doubled(const Range& range, uint32_t times) {
    const milliseconds longest = std::max(range.first, range.longest);
    return std::min(longest, jittered(exact({range.first, longest}, times)));
  }
  // Without jitter: the pause after `times` earlier pauses, and the one that follows `last` (0: the first).
  static constexpr milliseconds exact(const Range& range, uint32_t times) {
    return std::min<milliseconds>(range.longest, range.first * (1ll << std::min(times, 20u)));
  }
  static constexpr milliseconds after(milliseconds last, const Range& range) {
    return std::clamp<milliseconds>(last * 2, range.first, range.longest);
  }
  static milliseconds jittered(milliseconds pause) {
    thread_local std::minstd_rand random{std::random_device{}()};
    return pause * std::uniform_int_distribution<int>(80, 120)(random) / 100;
  }

 private:
  uint32_t tries_ = 0;
  bool stands_ = false;
  bool brought_ = false;
  milliseconds since_{0};
};

}  // namespace lineward
