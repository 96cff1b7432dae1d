// Counters of the plugins that send metrics and log records.
#pragma once

#include "plugins/common/otlp_exporter.h"
#include "proxy/plugin/plugin.h"

namespace lineward::plugins {

inline constexpr plugin::MetricRow kTelemetryRows[] = {
    {"lineward_otlp_items_total", "counter", "outcome",
     "Metrics or log records: sent, dropped (the queue was full, the collector did not take them, or a "
     "reading "
     "came while the one before was not sent)."},
    {"lineward_otlp_export_failures_total", "counter", "", "Batches that were tried again."},
    {"lineward_otlp_queued", "gauge", "", "Metrics or log records that wait to be sent."},
};

inline void count_telemetry(const OtlpExporter& exporter, plugin::CounterSink& sink) {
  sink.add(kTelemetryRows[0].name, "sent", static_cast<double>(exporter.numbers().sent));
  sink.add(kTelemetryRows[0].name, "dropped", static_cast<double>(exporter.numbers().dropped));
  sink.add(kTelemetryRows[1].name, {}, static_cast<double>(exporter.numbers().failed));
  sink.add(kTelemetryRows[2].name, {}, static_cast<double>(exporter.queued()));
}

}  // namespace lineward::plugins
