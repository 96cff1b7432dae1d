// What of a client's request head goes on with its message (BEHAVIOUR 11). Pure.
#pragma once

#include "config/forward_rules.h"
#include "core/headers.h"
#include "http/header_list.h"

namespace lineward::client {

// What the rules pass and `Connection` does not name; with `mirrored`, the headers by which a modern client
// repeats its message too (Mcp-Name, Mcp-Param-*), whatever `Connection` says.
core::HeaderFields headers_to_forward(const http::HeaderList& headers, const config::ForwardRules& rules,
                                      bool mirrored);

// A digest of these, but for what differs with each request (trace context). For comparing alone.
size_t credentials_of(const core::HeaderFields& forwarded);

}  // namespace lineward::client
