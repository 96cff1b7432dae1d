#include "foundation/log/known_secrets.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "foundation/log/secret_set.h"

namespace lineward::redaction {
namespace {

constexpr std::string_view kHidden = "…";

struct Known {
  std::mutex mutex;
  std::vector<std::string> current, former;  // oldest first
  std::shared_ptr<const SecretSet> values;
  std::atomic<uint64_t> version{0};  // 0: none
};

Known& known() {
  static Known the;
  return the;
}

// This thread's copy: most texts are checked without a lock.
const SecretSet* values() {
  thread_local uint64_t seen = 0;
  thread_local std::shared_ptr<const SecretSet> mine;
  const uint64_t version = known().version.load(std::memory_order_acquire);
  if (version != seen) {
    std::lock_guard<std::mutex> lock(known().mutex);
    mine = known().values;
    seen = version;
  }
  return mine.get();
}

}  // namespace

void KnownSecrets::use(const std::vector<std::string>& values) {
  std::lock_guard<std::mutex> lock(known().mutex);
  std::vector<std::string> next;
  for (const std::string& value : values) {
    const bool known = std::find(next.begin(), next.end(), value) != next.end();
    if (value.size() >= kShortest && !known) next.push_back(value);
  }
  if (next == known().current && known().version > 0) return;
  for (std::string& value : known().current)
    known().former.push_back(std::move(value));
  std::erase_if(known().former, [&next](const std::string& value) {
    return std::find(next.begin(), next.end(), value) != next.end();
  });
  if (known().former.size() > kMostFormer)
    known().former.erase(known().former.begin(), known().former.end() - kMostFormer);
  known().current = std::move(next);
  std::vector<std::string> both = known().current;
  both.insert(both.end(), known().former.begin(), known().former.end());
  if (both.empty()) return;
  known().values = std::make_shared<const SecretSet>(both, kShortest);
  ++known().version;
}

bool KnownSecrets::any() {
  return known().version.load(std::memory_order_relaxed) > 0;
}

bool KnownSecrets::stand_in(std::string_view text) {
  const SecretSet* its = values();
  return its != nullptr && its->stand_in(text);
}

std::string KnownSecrets::hide(std::string_view text) {
  const SecretSet* its = values();
  return its == nullptr ? std::string(text) : its->hide(text, kHidden);
}

}  // namespace lineward::redaction
