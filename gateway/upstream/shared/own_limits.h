// How long a request that Lineward itself sends to a server may take (behaviour.md 13): as long as a
// client's, and no longer than those who wait for it can.
#pragma once

#include <algorithm>
#include <chrono>

#include "config/call_timeouts.h"
#include "mcp/methods.h"

namespace lineward::upstream {

// A listen is acknowledged without the URIs whose subscription takes longer, within timeouts.acknowledge:
// also one that came while an earlier subscription was being ended, which has to be over first.
inline std::chrono::milliseconds own_limit(const config::Server& server, std::string_view method) {
  const config::Timeouts limits = config::timeouts_for(server, method);
  const std::chrono::milliseconds request = std::min(limits.request, limits.max_duration);
  switch (mcp::method_of(method)) {
    case mcp::Method::resources_subscribe: return std::min(request, limits.acknowledge * 7 / 10);
    case mcp::Method::resources_unsubscribe: return std::min(request, limits.acknowledge * 2 / 10);
    default: return request;
  }
}

}  // namespace lineward::upstream
