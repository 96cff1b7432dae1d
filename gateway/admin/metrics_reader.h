// Collects what was counted (metrics/stats.h) and what can be looked up, at the moment somebody asks.
#pragma once

#include <chrono>
#include <memory>

#include "admin/sources.h"
#include "metrics/snapshot.h"

namespace lineward::admin {

// Within WorkerDirectory::paused().
core::MetricSnapshot read_metrics(const Sources& sources);

// The same in pieces, between which the loop turns: servers that a reload takes away meanwhile are left out.
class MetricsReading {
 public:
  explicit MetricsReading(const Sources& sources);
  ~MetricsReading();
  MetricsReading(const MetricsReading&) = delete;
  MetricsReading& operator=(const MetricsReading&) = delete;

  // Reads on for about so long; true: all is read. Within WorkerDirectory::paused().
  bool read_for(std::chrono::nanoseconds time);
  // When all is read.
  core::MetricSnapshot take();

 private:
  struct State;
  const Sources& sources_;
  std::unique_ptr<State> state_;
};

}  // namespace lineward::admin
