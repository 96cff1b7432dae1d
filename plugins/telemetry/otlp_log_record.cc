#include "plugins/telemetry/otlp_log_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/json/json_scan.h"
#include "foundation/log/sanitize.h"
#include "plugins/common/otlp_json.h"

namespace lineward::plugins {
namespace {

// Limit of a value: longer values come from outside.
constexpr size_t kMaxValue = 2000;
constexpr size_t kMaxFields = 64;

struct Severity {
  int number;
  std::string_view text;
};
constexpr Severity severity(log::Level level) {
  switch (level) {
    case log::Level::debug: return {5, "DEBUG"};
    case log::Level::info: return {9, "INFO"};
    case log::Level::warn: return {13, "WARN"};
    case log::Level::error:
    case log::Level::off: break;
  }
  return {17, "ERROR"};
}

bool is_id(std::string_view text, size_t size) {
  return text.size() == size && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::string otlp_log_record(log::Level level, std::string_view event,
                            std::initializer_list<log::Field> fields, uint64_t at_ns) {
  OtlpAttributes attributes;
  attributes.text("event.name", event);
  std::string_view trace_id, span_id;
  std::string body(event);
  size_t taken = 0;
  for (const log::Field& field : fields) {
    if (++taken > kMaxFields) break;
    if (field.number) {
      attributes.number(field.key, field.value);
      body += fmt::format(" {}={}", field.key, field.value);
      continue;
    }
    if (field.text.empty()) continue;
    if (field.key == "trace_id" && is_id(field.text, 32)) {
      trace_id = field.text;
      continue;
    }
    if (field.key == "span_id" && is_id(field.text, 16)) {
      span_id = field.text;
      continue;
    }
    std::string shown = sanitize(field.text, kMaxValue);
    body += fmt::format(" {}={}", field.key, shown);
    attributes.text(field.key, shown);
  }
  const Severity its = severity(level);
  std::string out = fmt::format(
      R"({{"timeUnixNano":"{}","observedTimeUnixNano":"{}","severityNumber":{},"severityText":"{}","body":{{"stringValue":{}}},"attributes":{})",
      at_ns, at_ns, its.number, its.text, json::quote(body), attributes.json());
  if (!trace_id.empty() && !span_id.empty())
    out += fmt::format(R"(,"traceId":"{}","spanId":"{}")", trace_id, span_id);
  return out + "}";
}

}  // namespace lineward::plugins
