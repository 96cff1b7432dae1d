#include "proxy/audit/audit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "foundation/json/json_splice.h"
#include "foundation/log/peer_rates.h"
#include "foundation/log/redaction.h"
#include "proxy/audit/audit_log.h"
#include "proxy/audit/entry.h"

namespace lineward::audit {
namespace {

// The process's trail and its owner; every record reads the pointer.
struct Current {
  std::shared_ptr<AuditLog> owner;
  std::atomic<AuditLog*> trail{nullptr};
};
Current& current() {
  static Current the;
  return the;
}
AuditLog* trail() {
  return current().trail.load(std::memory_order_acquire);
}

}  // namespace

void use(std::shared_ptr<AuditLog> next) {
  Current& the = current();
  the.trail.store(next.get(), std::memory_order_release);
  the.owner = std::move(next);
}

bool active() {
  return trail() != nullptr;
}

namespace {

std::atomic<uint64_t> counted{0};

constexpr log::Rate kRefusals{100, 1};
constexpr log::Rate kRefusalsOfAll{2000, 100};

std::string_view text_of(std::span<const log::Field> fields, std::string_view key) {
  for (const log::Field& field : fields) {
    if (field.key == key) return field.text;
  }
  return {};
}

// Whether a call cost its client no more than a refusal.
bool is_refusal(Kind kind, std::span<const log::Field> fields) {
  if (kind != Kind::call) return kind == Kind::refusal;
  return text_of(fields, "sent") == "no" && !text_of(fields, "code").empty();
}

void record_anyway(AuditLog& to, Kind kind, std::span<const log::Field> fields);

// In the order of the fields of the record.
log::PeerRates& rates() {
  thread_local log::PeerRates mine(
      {"from", "who", "server", "end", "status"},
      [](log::Level, std::string_view, std::span<const std::string> peer, uint64_t count) {
        AuditLog* to = trail();
        if (to == nullptr) return;
        const std::initializer_list<log::Field> fields{{"from", peer[0]},   {"who", peer[1]},
                                                       {"server", peer[2]}, {"end", peer[3]},
                                                       {"status", peer[4]}, {"unrecorded", count}};
        record_anyway(*to, Kind::refusal, {fields.begin(), fields.size()});
      });
  return mine;
}

bool is_within_rate(Kind kind, std::span<const log::Field> fields) {
  using std::chrono::milliseconds;
  if (!is_refusal(kind, fields)) return true;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (rates().allows(log::Level::info, "refusal", fields, kRefusals, kRefusalsOfAll,
                     std::chrono::duration_cast<milliseconds>(now)))
    return true;
  counted.fetch_add(1, std::memory_order_relaxed);
  return false;
}

}  // namespace

void record(Kind kind, std::initializer_list<log::Field> fields) {
  AuditLog* to = trail();
  const std::span<const log::Field> all(fields.begin(), fields.size());
  if (to != nullptr && is_within_rate(kind, all)) record_anyway(*to, kind, all);
}

namespace {

void record_anyway(AuditLog& to, Kind kind, std::span<const log::Field> fields) {
  const auto is_touched = [](const log::Field& field) {
    return !field.number && redaction::touches(field.text);
  };
  if (std::none_of(fields.begin(), fields.end(), is_touched)) return to.take(kind, fields);
  // Redacted here, not when it is written: the rules may be gone by then. Also before truncation: half of a
  // secret cannot be detected.
  std::vector<std::string> clean;
  std::vector<log::Field> redacted;
  clean.reserve(fields.size());
  redacted.reserve(fields.size());
  for (const log::Field& field : fields) {
    redacted.push_back(field);
    if (!field.number) redacted.back().text = clean.emplace_back(redaction::apply(field.text));
  }
  to.take(kind, redacted);
}

}  // namespace

std::string recorded_arguments(std::string_view json) {
  AuditLog* to = trail();
  if (to == nullptr || !to->config().arguments || json.empty()) return {};
  const size_t most = to->config().argument_bytes;
  return cut(json::compact(redaction::touches(json) ? redaction::apply(json) : std::string(json)), most);
}

std::string_view refusal() {
  AuditLog* to = trail();
  if (to == nullptr || !to->refuses()) return {};
  return "the audit log of this gateway cannot be written, and without it nothing is done (audit.onError)";
}

Counts counts() {
  AuditLog* to = trail();
  Counts all = to == nullptr ? Counts{} : to->counts();
  all.counted = counted.load(std::memory_order_relaxed);
  return all;
}

}  // namespace lineward::audit
