// Metrics as the texts that are scraped. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "metrics/snapshot.h"

namespace lineward::admin {

enum class MetricFormat : uint8_t {
  classic,      // Prometheus's own
  open_metrics  // OpenMetrics 1.0, which has exemplars
};

// Which one a scraper's `Accept` asks for: OpenMetrics when it is named and nothing is liked better.
MetricFormat format_for(std::string_view accept);
std::string_view content_type(MetricFormat format);
std::string metrics_text(const core::MetricSnapshot& metrics, MetricFormat format);

// The same in pieces, between which other work may be done.
class MetricsWriter {
 public:
  MetricsWriter(const core::MetricSnapshot& metrics, MetricFormat format)
      : metrics_(metrics), format_(format) {}

  // Writes some hundred samples more; false: all is written.
  bool write_more();
  std::string take() { return std::move(text_); }

 private:
  const core::MetricSnapshot& metrics_;
  const MetricFormat format_;
  size_t family_ = 0, point_ = 0;
  bool ended_ = false;
  std::string text_;
};

}  // namespace lineward::admin
