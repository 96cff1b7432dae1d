// 2026-07-28 server/utilities/caching.
#pragma once

#include "protocol/mcp/methods.h"

namespace lineward::mcp {

// Do its results carry `ttlMs` and `cacheScope`?
constexpr bool has_cache_hints(Method method) {
  switch (method) {
    case Method::server_discover:
    case Method::tools_list:
    case Method::prompts_list:
    case Method::resources_list:
    case Method::resources_templates_list:
    case Method::resources_read: return true;
    default: return false;
  }
}

}  // namespace lineward::mcp
