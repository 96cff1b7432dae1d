// The files that options of plugins name: a gateway does not start with one that cannot be used, so it is
// said where the option stands.
#pragma once

#include "config/reader/document.h"
#include "config/reader/load.h"

namespace lineward::config {

void check_plugin_files(const Node& root, const LoadOptions& options, LoadResult& result);

}  // namespace lineward::config
