// How long an answer of a server may be where it has to be gone through item by item: a few milliseconds of
// the loop for each MiB (mcpServers.*.limits.maxListBytes). What is only passed on may be as long as
// limits.maxMessageBytes.
#pragma once

#include <optional>

#include "config/config.h"
#include "core/upstream.h"
#include "mcp/message.h"
#include "mcp/methods.h"

namespace lineward::core {

// Of any server's answer to such a request; nothing: it is short enough. Lists are gone through by plugins
// and by who translates them, what a client is asked by who asks it.
std::optional<Failure> too_long(const config::Server& server, mcp::Method method, const mcp::Message& answer);
// Where several servers are one: content, which is searched for URIs. Its long texts do not count.
std::optional<Failure> content_too_long(const config::Server& server, const mcp::Message& answer);

}  // namespace lineward::core
