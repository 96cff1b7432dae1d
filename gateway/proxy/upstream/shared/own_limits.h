// The time limit of Lineward's own requests to a server (behaviour.md 13): that of a client's request, but no
// longer than the waiting calls can wait.
#pragma once

#include <algorithm>
#include <chrono>

#include "config/call_timeouts.h"
#include "protocol/mcp/methods.h"

namespace lineward::upstream {

// A listen is acknowledged within timeouts.acknowledge, without URIs that take longer to subscribe. The
// limits allow for an earlier unsubscribe of the same URI, which must end first.
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
