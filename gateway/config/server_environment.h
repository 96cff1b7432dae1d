// The whole environment of a stdio server's process.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// "NAME=value": what it inherits of `own` (as the global `environ`: ends with null), and what it is given.
std::vector<std::string> server_environment(const Server& server, const char* const* own);

}  // namespace lineward::config
