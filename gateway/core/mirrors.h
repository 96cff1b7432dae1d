// The headers of a client's request that repeat its arguments (Mcp-Param-*), while plugins may change what
// they repeat.
#pragma once

#include <cstddef>
#include <optional>

#include "core/headers.h"
#include "mcp/message.h"
#include "mcp/methods.h"

namespace lineward::core {

class Mirrors {
 public:
  // `made_by_client`: CallRequest::mirrors_itself, of the request before any plugin has seen it.
  Mirrors(bool made_by_client, mcp::Method method, const mcp::Message& message, const HeaderFields& headers);

  // True where they do not say any more what the message says now: they are taken out, and it is Lineward
  // that has to make those of the message. That none are there says as much as one that is: a plugin may have
  // put in what one has to repeat.
  bool drop_stale(const mcp::Message& message, SharedFields& headers) const;

 private:
  size_t digest(const mcp::Message& message) const;

  bool is_tools_call_;
  std::optional<size_t> before_;  // nothing: no plugin can make them wrong
};

}  // namespace lineward::core
