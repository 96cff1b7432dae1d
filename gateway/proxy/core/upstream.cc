#include "proxy/core/upstream.h"

#include <fmt/format.h>

namespace lineward::core {

Failure not_in_service(const std::string& server) {
  return {mcp::EndReason::upstream_unreachable, fmt::format("there is no server '{}' in service", server)};
}

}  // namespace lineward::core
