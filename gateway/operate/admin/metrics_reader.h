// Collects counters (proxy/metrics/stats.h) and current values when metrics are read.
#pragma once

#include <chrono>
#include <memory>

#include "operate/admin/sources.h"
#include "proxy/metrics/snapshot.h"

namespace lineward::admin {

// Within WorkerDirectory::paused().
metrics::MetricSnapshot read_metrics(const Sources& sources);

// The same in pieces, with loop turns in between: servers removed by a reload meanwhile are skipped.
class MetricsReading {
 public:
  explicit MetricsReading(const Sources& sources);
  ~MetricsReading();
  MetricsReading(const MetricsReading&) = delete;
  MetricsReading& operator=(const MetricsReading&) = delete;

  // Reads for about `time`; true: all is read. Within WorkerDirectory::paused().
  bool read_for(std::chrono::nanoseconds time);
  // When all is read.
  metrics::MetricSnapshot take();

 private:
  struct State;
  const Sources& sources_;
  std::unique_ptr<State> state_;
};

}  // namespace lineward::admin
