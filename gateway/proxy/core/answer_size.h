// Upper bounds for answers that Lineward parses item by item, at a few milliseconds of the loop per MiB
// (mcpServers.*.limits.maxListBytes). Answers that are only forwarded are bounded by limits.maxMessageBytes.
#pragma once

#include <optional>

#include "config/config.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "proxy/core/upstream.h"

namespace lineward::core {

// For any server's answer to a request of this method; nullopt: it is short enough. Plugins and protocol
// translation walk lists. Input requests are walked to send them to the client.
std::optional<Failure> too_long(const config::Server& server, mcp::Method method, const mcp::Message& answer);
// For aggregates: content that is searched for URIs. Its long texts do not count.
std::optional<Failure> content_too_long(const config::Server& server, const mcp::Message& answer);

}  // namespace lineward::core
