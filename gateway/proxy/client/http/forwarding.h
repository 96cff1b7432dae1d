// Selects the headers of a client's request that are forwarded with its message (behaviour.md 11). Pure.
#pragma once

#include "config/forward_rules.h"
#include "protocol/http/header_list.h"
#include "proxy/core/headers.h"

namespace lineward::client {

// Are the headers forwarded that mirror a modern message (Mcp-Name, Mcp-Param-*)?
enum class Mirrored : bool { no, yes };

// The headers that the rules pass and `Connection` does not name, without the state cookie; mirrored headers
// whatever `Connection` says.
core::HeaderFields headers_to_forward(const http::HeaderList& headers, const config::ForwardRules& rules,
                                      Mirrored mirrored);

// The same with the legacy revision of the head, if it has one: without a session, the client's revision is
// forwarded with each request.
core::SharedFields with_revision(const http::HeaderList& headers, core::SharedFields fields);

// A digest of the forwarded headers, except those that differ with each request (trace context). Only for
// comparison.
size_t credentials_of(const core::HeaderFields& forwarded);
// A digest of `Authorization` alone; 0: it is not forwarded.
size_t authorization_of(const core::HeaderFields& forwarded);

}  // namespace lineward::client
