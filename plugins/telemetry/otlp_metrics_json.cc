#include "plugins/telemetry/otlp_metrics_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "foundation/json/json_scan.h"
#include "plugins/common/otlp_json.h"
#include "plugins/telemetry/metric_names.h"

namespace lineward::plugins {
namespace {

using metrics::MetricFamily;
using metrics::MetricPoint;
using metrics::MetricType;

uint64_t nanoseconds(double seconds) {
  return seconds > 0 ? static_cast<uint64_t>(seconds * 1e6) * 1000 : 0;
}

// The common members of all points.
std::string begin_point(const MetricPoint& point, uint64_t started_ns, uint64_t now_ns) {
  OtlpAttributes attributes;
  for (const auto& [label, value] : point.labels)
    attributes.text(otlp_attribute_name(label), value);
  return fmt::format(R"({{"attributes":{},"startTimeUnixNano":"{}","timeUnixNano":"{}")", attributes.json(),
                     started_ns, now_ns);
}

std::string exemplars_of(const MetricPoint& point) {
  std::string out;
  for (const auto& [bucket, one] : point.exemplars) {
    out += fmt::format(R"({}{{"timeUnixNano":"{}","asDouble":{},"traceId":"{}","spanId":"{}"}})",
                       out.empty() ? "" : ",", nanoseconds(one.at), one.value, one.trace_id(), one.span_id());
  }
  return out.empty() ? out : fmt::format(R"(,"exemplars":[{}])", out);
}

std::string point_json(const MetricPoint& point, uint64_t started_ns, uint64_t now_ns) {
  std::string out = begin_point(point, started_ns, now_ns);
  if (!point.histogram) return out + fmt::format(R"(,"asDouble":{}}})", point.value);
  const metrics::Histogram& histogram = *point.histogram;
  auto all = bounds(histogram.buckets());
  std::string counts;
  for (size_t i = 0; i <= all.size(); ++i)
    counts += fmt::format("{}\"{}\"", i == 0 ? "" : ",", histogram.in_bucket(i));
  return out + fmt::format(R"(,"count":"{}","sum":{},"bucketCounts":[{}],"explicitBounds":[{}]{}}})",
                           histogram.count(), histogram.sum(), counts, fmt::join(all, ","),
                           exemplars_of(point));
}

}  // namespace

std::vector<std::string> otlp_metrics_json(const metrics::MetricSnapshot& metrics, uint64_t now_ns) {
  const uint64_t started_ns = std::min(nanoseconds(metrics.started), now_ns);
  std::vector<std::string> out;
  for (const MetricFamily& family : metrics.families) {
    const OtlpMetricName named = otlp_metric_name(family.name, family.type);
    const std::string head = fmt::format(R"({{"name":{},"description":{},"unit":"{}",)",
                                         json::quote(named.name), json::quote(family.help), named.unit);
    for (size_t first = 0; first < family.points.size(); first += kPointsInOne) {
      std::string points;
      for (size_t i = first; i < std::min(family.points.size(), first + kPointsInOne); ++i) {
        if (!points.empty()) points += ',';
        points += point_json(family.points[i], started_ns, now_ns);
      }
      // 2: cumulative.
      switch (family.type) {
        case MetricType::gauge:
          out.push_back(head + fmt::format(R"("gauge":{{"dataPoints":[{}]}}}})", points));
          break;
        case MetricType::counter:
          out.push_back(
              head +
              fmt::format(R"("sum":{{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{}]}}}})",
                          points));
          break;
        case MetricType::histogram:
          out.push_back(
              head +
              fmt::format(R"("histogram":{{"aggregationTemporality":2,"dataPoints":[{}]}}}})", points));
          break;
      }
    }
  }
  return out;
}

}  // namespace lineward::plugins
