// All metrics at one moment, for every export: scraped text, or data for a collector (plugins/telemetry).
// Owned by the requester.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/metrics/exemplar.h"
#include "proxy/metrics/histogram.h"

namespace lineward::metrics {

enum class MetricType : uint8_t { counter, gauge, histogram };

struct MetricPoint {
  std::vector<std::pair<std::string, std::string>> labels;  // labels without a value are omitted
  double value = 0;                                         // of a counter or a gauge
  std::optional<Histogram> histogram;
  std::vector<std::pair<size_t, Exemplar>> exemplars;  // by bucket
};

struct MetricFamily {
  std::string name;  // as in docs/metrics.md
  std::string help;
  MetricType type = MetricType::gauge;
  std::vector<MetricPoint> points;
};

struct MetricSnapshot {
  double started = 0;                  // start of the process, as Unix time in seconds: counters count from
                                       // here
  std::vector<MetricFamily> families;  // families without points are omitted
};

}  // namespace lineward::metrics
