// The option table as a JSON Schema (2020-12), for completion and checks in editors. It accepts all input
// that the reader accepts. Checks across options (a server without a command, a duplicate name) are left to
// `lineward validate`.
#pragma once

#include <string>
#include <string_view>

#include "config/options/plugin_spec.h"

namespace lineward::config {

std::string options_schema(const PluginSpecs& plugins, std::string_view version);

}  // namespace lineward::config
