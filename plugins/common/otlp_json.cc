#include "plugins/common/otlp_json.h"

#include <fmt/format.h>

#include <array>

#include "foundation/json/json_scan.h"

namespace lineward::plugins {

void OtlpAttributes::text(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (!list_.empty()) list_ += ',';
  list_ += fmt::format(R"({{"key":{},"value":{{"stringValue":{}}}}})", json::quote(key), json::quote(value));
}

void OtlpAttributes::number(std::string_view key, int64_t value) {
  if (!list_.empty()) list_ += ',';
  list_ += fmt::format(R"({{"key":{},"value":{{"intValue":"{}"}}}})", json::quote(key), value);
}

const OtlpSignalRow& row(OtlpSignal signal) {
  static constexpr std::array<OtlpSignalRow, 3> kRows{{
      {"trace.export", "resourceSpans", "scopeSpans", "spans", "rejectedSpans", "v1/traces", "TRACES"},
      {"metrics.export", "resourceMetrics", "scopeMetrics", "metrics", "rejectedDataPoints", "v1/metrics",
       "METRICS"},
      {"logs.export", "resourceLogs", "scopeLogs", "logRecords", "rejectedLogRecords", "v1/logs", "LOGS"},
  }};
  return kRows[static_cast<size_t>(signal)];
}

}  // namespace lineward::plugins
