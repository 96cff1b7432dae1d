// Metrics as text for scrapers. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/metrics/snapshot.h"

namespace lineward::admin {

enum class MetricFormat : uint8_t {
  classic,      // Prometheus text format
  open_metrics  // OpenMetrics 1.0, with exemplars
};

// The format for a scraper's `Accept`: OpenMetrics if it is listed and no other type has a higher quality.
MetricFormat format_for(std::string_view accept);
std::string_view content_type(MetricFormat format);
std::string metrics_text(const metrics::MetricSnapshot& metrics, MetricFormat format);

// The same in pieces, with other work in between.
class MetricsWriter {
 public:
  MetricsWriter(const metrics::MetricSnapshot& metrics, MetricFormat format)
      : metrics_(metrics), format_(format) {}

  // Writes some hundred more samples; false: all are written.
  bool write_more();
  std::string take() { return std::move(text_); }

 private:
  const metrics::MetricSnapshot& metrics_;
  const MetricFormat format_;
  size_t family_ = 0, point_ = 0;
  bool ended_ = false;
  std::string text_;
};

}  // namespace lineward::admin
