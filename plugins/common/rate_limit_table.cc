#include "plugins/common/rate_limit_table.h"

#include <algorithm>

#include "foundation/base/sha256.h"

namespace lineward::plugins {

Admittance admit(const Rate& rate, int64_t& arrival_at, int64_t now) {
  const int64_t interval = rate.interval();
  const int64_t bucket = interval * static_cast<int64_t>(rate.burst);
  int64_t from = std::max(arrival_at, now);
  int64_t next = from + interval;
  Admittance out;
  if (next - bucket > now) {
    out.retry_after = std::chrono::nanoseconds(next - bucket - now);
  } else {
    out.allowed = true;
    arrival_at = from = next;
  }
  out.full_after = std::chrono::nanoseconds(std::max<int64_t>(0, from - now));
  out.remaining = static_cast<uint64_t>((bucket - (from - now)) / interval);
  return out;
}

RateKey rate_key(std::string_view text) {
  const Sha256 digest = sha256(text);
  RateKey key;
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

std::string hex(const RateKey& key) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (uint8_t byte : key) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

Admittance RateTable::take(const RateKey& key, int64_t now) {
  auto found = slots_.find(key);
  if (found == slots_.end()) {
    forget_idle(now, 2);  // it shrinks faster than it grows
    if (slots_.size() >= most_) {
      slots_.erase(order_.back().key);
      order_.pop_back();
      ++evicted_;
    }
    order_.push_front({key, 0});
    found = slots_.emplace(key, order_.begin()).first;
  } else {
    order_.splice(order_.begin(), order_, found->second);
  }
  return admit(rate_, found->second->arrival_at, now);
}

std::shared_ptr<CommonTable> CommonTable::of(const std::string& name, Rate rate, size_t most) {
  static std::mutex mutex;
  static auto* const tables = new std::unordered_map<std::string, std::weak_ptr<CommonTable>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(*tables, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<CommonTable>& known = (*tables)[name];
  auto table = known.lock();
  if (!table) known = table = std::make_shared<CommonTable>(rate, most);
  return table;
}

void RateTable::forget_idle(int64_t now, size_t at_most) {
  for (; at_most > 0 && !order_.empty() && order_.back().arrival_at <= now; --at_most) {
    slots_.erase(order_.back().key);
    order_.pop_back();
  }
}

}  // namespace lineward::plugins
