// Fixed-bucket histograms of durations. Observing neither allocates nor locks: all counting is on one thread.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lineward::metrics {

enum class Buckets : uint8_t {
  mcp,      // the GenAI semantic conventions' boundaries for MCP: 10 ms to 5 min
  http,     // OpenTelemetry's for HTTP: 5 ms to 10 s
  precise,  // for Lineward's own overhead: 10 µs to 50 ms
  turn      // loop turns, by a millisecond clock: 1 ms to 10 s
};

inline constexpr std::array<double, 14> kMcpBounds{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,
                                                   2,    5,    10,   30,  60,  120, 300};
inline constexpr std::array<double, 14> kHttpBounds{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25,
                                                    0.5,   0.75, 1,     2.5,  5,     7.5, 10};
inline constexpr std::array<double, 11> kPreciseBounds{0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005,
                                                       0.001,   0.0025,   0.005,   0.01,   0.05};

inline constexpr std::array<double, 13> kTurnBounds{0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                    0.25,  0.5,   1,     2.5,  5,     10};

// Upper bounds in seconds, ascending, without the last (infinite) one.
constexpr std::span<const double> bounds(Buckets buckets) {
  switch (buckets) {
    case Buckets::mcp: return kMcpBounds;
    case Buckets::http: return kHttpBounds;
    case Buckets::precise: return kPreciseBounds;
    case Buckets::turn: return kTurnBounds;
  }
  return kMcpBounds;
}

class Histogram {
 public:
  static constexpr size_t kMaxBuckets = 15;

  Histogram() : Histogram(Buckets::mcp) {}
  explicit Histogram(Buckets buckets) : buckets_(buckets) {}

  // A duration in seconds; negative values (from a cached clock) count as 0.
  void observe(double seconds) {
    seconds = std::max(seconds, 0.0);
    ++counts_[bucket_of(seconds)];
    ++count_;
    sum_ += seconds;
  }
  void observe(std::chrono::nanoseconds time) { observe(std::chrono::duration<double>(time).count()); }

  // Adds `count` durations to a bucket, as counted elsewhere. The caller adds their sum.
  void add_to(size_t bucket, uint64_t count) {
    counts_[bucket] += count;
    count_ += count;
  }
  void add_sum(double seconds) { sum_ += seconds; }
  size_t bucket_of(double seconds) const {
    auto all = bounds(buckets_);
    size_t at = 0;
    while (at < all.size() && seconds > all[at])
      ++at;
    return at;
  }

  // `other` has the same buckets.
  void add(const Histogram& other) {
    for (size_t i = 0; i < kMaxBuckets; ++i)
      counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
  }

  Buckets buckets() const { return buckets_; }
  uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  // The count above bounds()[i - 1] and up to bounds()[i]; the last bucket is above all bounds.
  uint64_t in_bucket(size_t i) const { return counts_[i]; }

 private:
  Buckets buckets_;
  std::array<uint64_t, kMaxBuckets> counts_{};
  uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace lineward::metrics
