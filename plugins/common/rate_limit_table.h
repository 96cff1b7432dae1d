// Token buckets by GCRA (ITU-T I.371, "virtual scheduling"): for each key only its theoretical arrival time
// is kept. Full buckets need not be kept. Bounded: beyond `most` the least recently used key is dropped, and
// starts again. Pure: knows no clock; times are in nanoseconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "foundation/base/keyed_digest.h"

namespace lineward::plugins {

struct Rate {
  uint64_t requests = 1;
  std::chrono::milliseconds per{1000};
  uint64_t burst = 1;  // the size of the bucket

  int64_t interval() const {  // nanoseconds for one token
    int64_t whole = std::chrono::nanoseconds(per).count();
    auto each = static_cast<int64_t>(static_cast<uint64_t>(whole) / requests);
    return each > 0 ? each : 1;
  }
};

struct Admittance {
  bool allowed = false;
  uint64_t remaining = 0;
  std::chrono::nanoseconds retry_after{0};  // for a refusal: time until a token is available
  std::chrono::nanoseconds full_after{0};
  bool unchecked = false;  // a refusal because nothing could be counted
};

// Admits a new arrival, and updates `arrival_at`, the key's theoretical arrival time (0: none).
Admittance admit(const Rate& rate, int64_t& arrival_at, int64_t now);

// The limited key as a digest: of fixed size, and revealing no session or principal. rate_key() is the same
// in every process. A table of this process may use keyed_digest(), which is cheaper.
using RateKey = KeyedDigest;
RateKey rate_key(std::string_view text);
std::string hex(const RateKey& key);

class RateTable {
 public:
  RateTable(Rate rate, size_t most) : rate_(rate), most_(most) {}

  Admittance take(const RateKey& key, int64_t now);
  // Drops keys with full buckets, least recently used first.
  void forget_idle(int64_t now, size_t at_most);

  size_t size() const { return slots_.size(); }
  size_t bytes() const { return slots_.size() * kBytesEach; }
  uint64_t evicted() const { return evicted_; }  // keys dropped although their buckets were not full
  const Rate& rate() const { return rate_; }

 private:
  struct Slot {
    RateKey key;
    int64_t arrival_at;
  };
  struct Hash {
    size_t operator()(const RateKey& key) const {
      size_t out = 0;
      std::memcpy(&out, key.data(), sizeof out);
      return out;
    }
  };
  using Order = std::list<Slot>;  // most recently used first
  // A list node, a hash node and their part of the bucket array, rounded up as by the allocator.
  static constexpr size_t kBytesEach = 48 + 48 + 8;

  Rate rate_;
  size_t most_;
  Order order_;
  std::unordered_map<RateKey, Order::iterator, Hash> slots_;
  uint64_t evicted_ = 0;
};

// A table shared by all workers of this process: a caller has one bucket for servers on any worker. Each
// access is one short lock of a part of the table. Workers meet there only for keys of the same part.
class CommonTable {
 public:
  // The table of this name: created for the first caller, destroyed with the last reference. The same name
  // implies the same rate and bound.
  static std::shared_ptr<CommonTable> of(const std::string& name, Rate rate, size_t most);
  CommonTable(Rate rate, size_t most) : rate_(rate) {
    const size_t parts = std::clamp<size_t>(most / kKeysOfPart, 1, kMaxParts);
    for (size_t i = 0; i < parts; ++i)
      parts_.emplace_back(rate, most / parts);
  }

  Admittance take(const RateKey& key, int64_t now) {
    // The table of a part hashes by the first bytes.
    Part& part = parts_[key.back() % parts_.size()];
    std::lock_guard<std::mutex> lock(part.mutex);
    return part.table.take(key, now);
  }
  // Returns the number of remaining keys.
  size_t forget_idle(int64_t now, size_t at_most) {
    size_t keys = 0;
    for (Part& part : parts_) {
      std::lock_guard<std::mutex> lock(part.mutex);
      part.table.forget_idle(now, std::max<size_t>(1, at_most / parts_.size()));
      keys += part.table.size();
    }
    return keys;
  }
  struct Sizes {
    size_t keys = 0, bytes = 0;
    uint64_t evicted = 0;
  };
  Sizes sizes() const {
    Sizes out;
    for (const Part& part : parts_) {
      std::lock_guard<std::mutex> lock(part.mutex);
      out.keys += part.table.size();
      out.bytes += part.table.bytes();
      out.evicted += part.table.evicted();
    }
    return out;
  }
  const Rate& rate() const { return rate_; }

 private:
  // A part that is too small would forget keys long before the table is full.
  static constexpr size_t kKeysOfPart = 1024;
  static constexpr size_t kMaxParts = 64;
  struct alignas(64) Part {
    Part(Rate rate, size_t most) : table(rate, most) {}
    mutable std::mutex mutex;
    RateTable table;
  };

  const Rate rate_;
  std::deque<Part> parts_;  // they cannot be moved
};

}  // namespace lineward::plugins
