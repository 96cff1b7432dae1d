// Settings of the trace plugin: from its options, else from OpenTelemetry's environment variables.
#pragma once

#include <string_view>

#include "config/config.h"
#include "config/options/plugin_spec.h"
#include "foundation/base/result.h"
#include "plugins/common/otlp_exporter.h"
#include "plugins/common/otlp_json.h"
#include "plugins/common/otlp_options.h"

namespace lineward::plugins {

struct TraceOptions {
  OtlpExporter::Options exporter;
  double ratio = 1;           // sampled fraction of traces that begin here, or of all
  bool follow_parent = true;  // the parent decides about sampling
  bool arguments = false;     // recorded as gen_ai.tool.call.arguments
  bool results = false;       // recorded as gen_ai.tool.call.result
};

const config::PluginSpec& trace_spec();
Result<TraceOptions> read_trace_options(const config::PluginValues& values, const Environment& environment);
// network.* and server.* attributes of a span for that server.
void describe_server(const config::Config& config, std::string_view name, OtlpAttributes& out);

}  // namespace lineward::plugins
