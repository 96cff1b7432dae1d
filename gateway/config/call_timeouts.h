// The timeouts of one call: the server's, overridden by `methods` for the call's method, then by
// `tools.overrides` for its tool. The first matching glob of each applies.
#pragma once

#include <string_view>

#include "config/config.h"

namespace lineward::config {

// `tool`: of a tools/call; empty for other methods.
Timeouts timeouts_for(const Server& server, std::string_view method, std::string_view tool = {});

}  // namespace lineward::config
