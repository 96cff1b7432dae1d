// The request size limit for a member of an aggregate. At a server's own path the front checks it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "config/config.h"
#include "proxy/core/upstream.h"
#include "proxy/metrics/limits.h"

namespace lineward::core {

// Nullopt: the size is allowed.
inline std::optional<Failure> too_large(const config::Server& server, uint64_t bytes) {
  const uint64_t most = server.limits.max_request_bytes;
  if (most == 0 || bytes <= most) return std::nullopt;
  metrics::limit_reached(metrics::Limit::request_bytes);
  Failure failure{mcp::EndReason::invalid_request,
                  fmt::format("the body is larger than {} bytes (mcpServers.{}.limits.maxRequestBytes)", most,
                              server.name)};
  failure.code = failure.http_status = 413;
  return failure;
}

}  // namespace lineward::core
