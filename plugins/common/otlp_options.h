// The common options of plugins that send telemetry. Missing options are taken from OpenTelemetry's
// environment variables.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options/plugin_spec.h"
#include "foundation/base/result.h"
#include "plugins/common/otlp_exporter.h"

namespace lineward::plugins {

using Environment = std::function<const char*(const char*)>;

// The rows `endpoint`, `headers`, `caFile` and `serviceName`; their texts live as long as the process.
std::vector<config::Option> otlp_option_rows(OtlpSignal signal);
// Reads these four, and the time limit.
Result<OtlpExporter::Options> read_otlp_options(OtlpSignal signal, const config::PluginValues& values,
                                                const Environment& environment);
std::string variable(const Environment& environment, std::string_view name);
// An integer variable within these bounds; nullopt if it is not one.
std::optional<uint64_t> number_in(const Environment& environment, std::string_view name, uint64_t least,
                                  uint64_t most);

}  // namespace lineward::plugins
