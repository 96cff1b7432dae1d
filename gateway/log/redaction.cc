#include "log/redaction.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace lineward::redaction {
namespace {

struct All {
  std::mutex mutex;
  std::vector<std::weak_ptr<Redactor>> list;
  std::atomic<bool> any = false;
};

All& all() {
  static All everything;
  return everything;
}

}  // namespace

std::shared_ptr<void> add(Redactor redactor) {
  auto kept = std::make_shared<Redactor>(std::move(redactor));
  std::lock_guard<std::mutex> lock(all().mutex);
  std::erase_if(all().list, [](const auto& one) { return one.expired(); });
  all().list.push_back(kept);
  all().any = true;
  return kept;
}

bool active() {
  return all().any.load(std::memory_order_relaxed);
}

std::string apply(std::string_view text) {
  std::string out(text);
  if (!active()) return out;
  std::vector<std::shared_ptr<Redactor>> now;
  {
    std::lock_guard<std::mutex> lock(all().mutex);
    for (const auto& weak : all().list) {
      if (auto one = weak.lock()) now.push_back(std::move(one));
    }
    if (now.empty()) all().any = false;
  }
  for (const auto& one : now)
    out = (*one)(out);
  return out;
}

}  // namespace lineward::redaction
