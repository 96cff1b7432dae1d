// Collects what was counted (metrics/stats.h) and what can be looked up, at the moment somebody asks.
#pragma once

#include "admin/sources.h"
#include "metrics/snapshot.h"

namespace lineward::admin {

// Within WorkerDirectory::paused().
core::MetricSnapshot read_metrics(const Sources& sources);

}  // namespace lineward::admin
