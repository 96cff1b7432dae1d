// The table of built-in plugins, and the loader of shared objects.
#pragma once

#include "proxy/plugin/plugin.h"

namespace lineward::plugins {

plugin::Registry registry();
// The option tables for the configuration's loader.
const config::PluginSpecs& specs();

}  // namespace lineward::plugins
