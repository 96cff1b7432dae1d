// How long one call may take: a server's timeouts, then what stands under `methods` for the call's method,
// then what stands under `tools.overrides` for its tool; of each the first glob that matches.
#pragma once

#include <string_view>

#include "config/config.h"

namespace lineward::config {

// `tool`: of a tools/call; empty for all else.
Timeouts timeouts_for(const Server& server, std::string_view method, std::string_view tool = {});

}  // namespace lineward::config
