// The pauses between attempts at one thing (a stream that is opened again, a listen that is asked for again):
// the first, then twice the one before, up to the longest, give or take a fifth, so that those who lost the
// same server do not come back at once. What an attempt shows decides when they begin anew: it is good when
// it has stood for kGoodAfter, or has brought what it was made for.
//
// No clock of its own; one thread.
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

  // The attempt stands: its stream is open, its listen acknowledged.
  void stood(milliseconds now) {
    stands_ = true;
    brought_ = false;
    since_ = now;
  }
  // It does not stand any more, and who made it may not try again by itself.
  void fell(milliseconds now) { stands_ = brought_ = is_good(now); }
  // A message came that it was made for.
  void brought() { brought_ = stands_; }
  bool is_good(milliseconds now) const { return stands_ && (brought_ || now - since_ >= kGoodAfter); }
  // Whatever it brought, it was not good.
  void spoiled() { stands_ = brought_ = false; }
  // The attempt is over, or came to nothing: the pause before the next one.
  milliseconds pause(milliseconds now, const Range& range) {
    if (is_good(now)) tries_ = 0;
    stands_ = false;
    return doubled(range, tries_++);
  }
  // What was tried before means nothing any more.
  void reset() {
    tries_ = 0;
    stands_ = false;
  }
  // Attempts in a row that were not good.
  uint32_t tries() const { return tries_; }

  // The pause after so many others.
  static milliseconds doubled(const Range& range, uint32_t times) {
    const milliseconds longest = std::max(range.first, range.longest);
    const milliseconds wait = std::min<milliseconds>(longest, range.first * (1ll << std::min(times, 20u)));
    thread_local std::minstd_rand random{std::random_device{}()};
    return std::min<milliseconds>(longest, wait * std::uniform_int_distribution<int>(80, 120)(random) / 100);
  }

 private:
  uint32_t tries_ = 0;
  bool stands_ = false;
  bool brought_ = false;
  milliseconds since_{0};
};

}  // namespace lineward
