// Random numbers from the seed. A source for each purpose, so that leaving one thing out of a world leaves
// the others as they were: that is what makes shrinking work.
#pragma once

#include <cstdint>
#include <string_view>

namespace lineward::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // A source of its own for a named part.
  Random(uint64_t seed, std::string_view purpose, uint64_t number = 0) : state_(seed) {
    uint64_t mixed = 0xcbf29ce484222325;
    for (char c : purpose)
      mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    state_ ^= mixed + number * 0x9e3779b97f4a7c15;
    next();
  }

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // 0 to n - 1.
  uint64_t below(uint64_t n) { return n == 0 ? 0 : next() % n; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }
  bool percent(unsigned p) { return below(100) < p; }
  // Mostly small, sometimes as large as it may be.
  int64_t skewed(int64_t low, int64_t high) {
    const int64_t top = between(low, high);
    return percent(70) ? between(low, low + (top - low) / 8) : top;
  }

 private:
  uint64_t state_;
};

}  // namespace lineward::sim
