// The registry rows of built-in plugins; each is defined in the plugin's own file.
#pragma once

#include "proxy/plugin/plugin.h"

namespace lineward::plugins {

plugin::Type access_log();
plugin::Type api_key();
plugin::Type jwt();
plugin::Type trusted_proxy();
plugin::Type hook();
plugin::Type otlp_logs();
plugin::Type otlp_metrics();
plugin::Type rate_limit();
plugin::Type redact();
plugin::Type result_limit();
plugin::Type tool_filter();
plugin::Type trace();

}  // namespace lineward::plugins
