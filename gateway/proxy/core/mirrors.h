// The headers of a client's request that repeat its arguments (Mcp-Param-*). Detects when a plugin has
// changed these arguments.
#pragma once

#include <cstddef>
#include <optional>

#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "proxy/core/headers.h"

namespace lineward::core {

class Mirrors {
 public:
  // `made_by_client`: UpstreamRequest::sends_param_headers. Construct it before any plugin has seen the
  // request.
  Mirrors(bool made_by_client, mcp::Method method, const mcp::Message& message, const HeaderFields& headers);

  // True if the message has changed so that the headers are stale: they are removed, and Lineward must
  // generate them from the message. A missing header may be stale too: a plugin may have added the argument
  // that it must repeat.
  bool drop_stale(const mcp::Message& message, SharedFields& headers) const;

 private:
  size_t digest(const mcp::Message& message) const;

  bool is_tools_call_;
  std::optional<size_t> before_;  // nullopt: no plugin can make the headers stale
};

}  // namespace lineward::core
