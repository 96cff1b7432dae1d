// Builds the whole environment of a stdio server's process.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// "NAME=value" entries: variables inherited from `own` (like the global `environ`, ends with null), and
// configured ones.
std::vector<std::string> server_environment(const Server& server, const char* const* own);

}  // namespace lineward::config
