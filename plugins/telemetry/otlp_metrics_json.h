// Metrics in OTLP's JSON encoding. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proxy/metrics/snapshot.h"

namespace lineward::plugins {

// Each metric becomes a text, with at most kPointsInOne data points; larger metrics become several texts.
inline constexpr size_t kPointsInOne = 200;
std::vector<std::string> otlp_metrics_json(const metrics::MetricSnapshot& metrics, uint64_t now_ns);

}  // namespace lineward::plugins
