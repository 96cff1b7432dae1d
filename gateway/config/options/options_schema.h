// The option table as a JSON Schema (2020-12), for editors: names complete, ranges and choices are checked
// while one types. It takes what the reader takes; what only the whole tells (a server without a command, a
// name that is taken) is for `lineward validate`.
#pragma once

#include <string>
#include <string_view>

#include "config/options/plugin_spec.h"

namespace lineward::config {

std::string options_schema(const PluginSpecs& plugins, std::string_view version);

}  // namespace lineward::config
