#include "audit/audit.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "audit/entry.h"
#include "audit/trail.h"
#include "json/json_splice.h"
#include "log/redaction.h"

namespace lineward::audit {
namespace {

// The trail of the process, and its owner: the pointer is what every record reads.
struct Current {
  std::shared_ptr<Trail> owner;
  std::atomic<Trail*> trail{nullptr};
};
Current& current() {
  static Current the;
  return the;
}
Trail* trail() {
  return current().trail.load(std::memory_order_acquire);
}

}  // namespace

void use(std::shared_ptr<Trail> next) {
  Current& the = current();
  the.trail.store(next.get(), std::memory_order_release);
  the.owner = std::move(next);
}

bool active() {
  return trail() != nullptr;
}

void record(Kind kind, std::initializer_list<log::Field> fields) {
  Trail* to = trail();
  if (to == nullptr) return;
  const auto is_touched = [](const log::Field& field) {
    return !field.number && redaction::touches(field.text);
  };
  if (std::none_of(fields.begin(), fields.end(), is_touched))
    return to->take(kind, {fields.begin(), fields.size()});
  // Here and not when it is written: then the rules may have gone. And before a text is cut: half of a secret
  // is not known as one.
  std::vector<std::string> clean;
  std::vector<log::Field> redacted;
  clean.reserve(fields.size());
  redacted.reserve(fields.size());
  for (const log::Field& field : fields) {
    redacted.push_back(field);
    if (!field.number) redacted.back().text = clean.emplace_back(redaction::apply(field.text));
  }
  to->take(kind, redacted);
}

std::string recorded_arguments(std::string_view json) {
  Trail* to = trail();
  if (to == nullptr || !to->config().arguments || json.empty()) return {};
  const size_t most = to->config().argument_bytes;
  return cut(json::compact(redaction::touches(json) ? redaction::apply(json) : std::string(json)), most);
}

std::string_view refusal() {
  Trail* to = trail();
  if (to == nullptr || !to->refuses()) return {};
  return "the audit log of this gateway cannot be written, and without it nothing is done (audit.onError)";
}

Counts counts() {
  Trail* to = trail();
  return to == nullptr ? Counts{} : to->counts();
}

}  // namespace lineward::audit
