// Metrics in OpenTelemetry's words: the other way round of how their names became Prometheus's. Pure.
#pragma once

#include <string>
#include <string_view>

#include "metrics/snapshot.h"

namespace lineward::plugins {

struct OtlpMetricName {
  std::string name;       // "mcp.server.operation.duration"
  std::string_view unit;  // "s", "By", "1"
};
OtlpMetricName otlp_metric_name(std::string_view name, core::MetricType type);
// "mcp.method.name" of mcp_method_name; what is Lineward's own stays as it is.
std::string_view otlp_attribute_name(std::string_view label);

}  // namespace lineward::plugins
