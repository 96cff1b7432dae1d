// What the trace plugin is told: by its options, else by OpenTelemetry's environment variables.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "config/config.h"
#include "config/options/plugin_spec.h"
#include "plugins/trace/trace_exporter.h"
#include "plugins/trace/trace_span.h"

namespace lineward::plugins {

struct TraceOptions {
  TraceExporter::Options exporter;
  double ratio = 1;           // of the traces that begin here, or of all
  bool follow_parent = true;  // a parent says whether it is sampled
  bool arguments = false;     // as gen_ai.tool.call.arguments
};

const config::PluginSpec& trace_spec();
Result<TraceOptions> read_trace_options(const config::PluginValues& values,
                                        const std::function<const char*(const char*)>& environment);
// network.*, server.* of a span towards that server.
void describe_server(const config::Config& config, std::string_view name, TraceAttributes& out);

}  // namespace lineward::plugins
