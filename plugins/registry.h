// The plugins that are built in, and the loader of those that are not: one explicit table.
#pragma once

#include "plugin/plugin.h"

namespace lineward::plugins {

plugin::Registry registry();
// Their option tables, for the configuration's loader.
const config::PluginSpecs& specs();

}  // namespace lineward::plugins
