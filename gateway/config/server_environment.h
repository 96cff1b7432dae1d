// Builds the whole environment of a stdio server's process.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// "NAME=value" entries: variables inherited from `own` (like the global `environ`, ends with null), and
// configured ones. `about_caller`: the values of those about the process's caller (Identity::env); a variable
// without a value is not there at all.
std::vector<std::string> server_environment(const Server& server, const char* const* own,
                                            const Identity::Map& about_caller = {});

}  // namespace lineward::config
