#include "log/known_secrets.h"

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace lineward::redaction {
namespace {

constexpr std::string_view kHidden = "…";

uint16_t pair_at(std::string_view text, size_t at) {
  return static_cast<uint16_t>((static_cast<unsigned char>(text[at]) << 8) |
                               static_cast<unsigned char>(text[at + 1]));
}

// A text is gone through once, however many values there are: two bytes say which of them may begin here.
class Values {
 public:
  explicit Values(const std::vector<std::string>& all) {
    for (const std::string& value : all) {
      begins_.set(pair_at(value, 0));
      by_pair_[pair_at(value, 0)].push_back(value);
    }
    for (auto& [pair, some] : by_pair_)
      std::sort(some.begin(), some.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }

  // Of the longest value that stands there; 0: none does.
  size_t size_at(std::string_view text, size_t at) const {
    const uint16_t pair = pair_at(text, at);
    if (!begins_.test(pair)) return 0;
    for (const std::string& value : by_pair_.at(pair)) {
      if (text.substr(at, value.size()) == value) return value.size();
    }
    return 0;
  }

 private:
  std::bitset<1 << 16> begins_;
  std::unordered_map<uint16_t, std::vector<std::string>> by_pair_;
};

struct Known {
  std::mutex mutex;
  std::vector<std::string> current, former;  // the oldest of the former first
  std::shared_ptr<const Values> values;
  std::atomic<uint64_t> version{0};  // 0: there are none
};

Known& known() {
  static Known the;
  return the;
}

// This thread's view: most texts are looked at without a lock.
const Values* values() {
  thread_local uint64_t seen = 0;
  thread_local std::shared_ptr<const Values> mine;
  const uint64_t version = known().version.load(std::memory_order_acquire);
  if (version != seen) {
    std::lock_guard<std::mutex> lock(known().mutex);
    mine = known().values;
    seen = version;
  }
  return mine.get();
}

// Calls at(place, size) for each value in the text, until that says false.
template <class At>
void each(std::string_view text, At&& at) {
  const Values* its = values();
  if (its == nullptr || text.size() < KnownSecrets::kShortest) return;
  for (size_t place = 0; place + KnownSecrets::kShortest <= text.size();) {
    const size_t size = its->size_at(text, place);
    if (size > 0 && !at(place, size)) return;
    place += std::max<size_t>(size, 1);
  }
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
  known().values = std::make_shared<const Values>(both);
  ++known().version;
}

bool KnownSecrets::any() {
  return known().version.load(std::memory_order_relaxed) > 0;
}

bool KnownSecrets::stand_in(std::string_view text) {
  bool found = false;
  each(text, [&found](size_t, size_t) { return !(found = true); });
  return found;
}

std::string KnownSecrets::hide(std::string_view text) {
  std::string out;
  size_t taken = 0;
  each(text, [&](size_t place, size_t size) {
    out.append(text.substr(taken, place - taken));
    out.append(kHidden);
    taken = place + size;
    return true;
  });
  out.append(text.substr(taken));
  return out;
}

}  // namespace lineward::redaction
