// /metrics: collects what was counted (metrics/stats.h) and what can be looked up, at the moment somebody
// asks.
#pragma once

#include <string>

#include "admin/sources.h"

namespace lineward::admin {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

std::string metrics_text(const Sources& sources);

}  // namespace lineward::admin
