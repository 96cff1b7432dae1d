// Collects counters (proxy/metrics/stats.h) and current values when metrics are read.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "operate/admin/sources.h"
#include "proxy/metrics/snapshot.h"

namespace lineward::admin {

// Nullopt: a worker does not answer.
std::optional<metrics::MetricSnapshot> read_metrics(const Sources& sources);

// The same in pieces, with loop turns in between: servers removed by a reload meanwhile are skipped.
class MetricsReading {
 public:
  explicit MetricsReading(const Sources& sources);
  ~MetricsReading();
  MetricsReading(const MetricsReading&) = delete;
  MetricsReading& operator=(const MetricsReading&) = delete;

  // Reads for about `time`; true: all is read. Within WorkerDirectory::paused().
  bool read_for(std::chrono::nanoseconds time);
  // Reads the trees of the servers' processes from /proc, which may take long: afterwards, and not within
  // WorkerDirectory::paused(). Otherwise as read_for().
  bool read_processes_for(std::chrono::nanoseconds time);
  // When both have read all.
  metrics::MetricSnapshot take();

 private:
  struct State;
  const Sources& sources_;
  std::unique_ptr<State> state_;
};

}  // namespace lineward::admin
