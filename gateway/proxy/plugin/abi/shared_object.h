// Plugins that are shared objects: `plugins: [{ path: ./libx.so, options: {…} }]`, over the C interface of
// plugins/include/lineward/plugin_abi.h.
//
// A library is loaded when the plugin is made and unloaded with its last plugin, which outlives every hook.
#pragma once

#include <string_view>

#include "proxy/plugin/plugin.h"

namespace lineward::plugin {

// The registry's row; it has no option table, since shared objects check their own options.
Type shared_object();
inline constexpr std::string_view kSharedObject = "sharedObject";

}  // namespace lineward::plugin
