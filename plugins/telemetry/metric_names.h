// Metric names in OpenTelemetry's form: the inverse of the mapping to Prometheus names. Pure.
#pragma once

#include <string>
#include <string_view>

#include "proxy/metrics/snapshot.h"

namespace lineward::plugins {

struct OtlpMetricName {
  std::string name;       // "mcp.server.operation.duration"
  std::string_view unit;  // "s", "By", "1"
};
OtlpMetricName otlp_metric_name(std::string_view name, metrics::MetricType type);
// "mcp.method.name" of mcp_method_name; Lineward's own labels stay unchanged.
std::string_view otlp_attribute_name(std::string_view label);

}  // namespace lineward::plugins
