// Checks the files named by plugin options. The gateway does not start with an unusable file, so the error is
// reported at the option.
#pragma once

#include "config/reader/document.h"
#include "config/reader/load.h"

namespace lineward::config {

void check_plugin_files(const Node& root, const LoadOptions& options, LoadResult& result);

}  // namespace lineward::config
