// Metrics as the texts that are scraped. Pure.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace lineward::admin
