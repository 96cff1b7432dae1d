// What of a client's request head goes on with its message (behaviour.md 11). Pure.
#pragma once

#include "config/forward_rules.h"
#include "core/headers.h"
#include "http/header_list.h"

namespace lineward::client {

// Do the headers go on by which a modern client repeats its message (Mcp-Name, Mcp-Param-*)?
enum class Mirrored : bool { no, yes };

// What the rules pass and `Connection` does not name, without the cookie that names state; those that mirror
// the message whatever `Connection` says.
core::HeaderFields headers_to_forward(const http::HeaderList& headers, const config::ForwardRules& rules,
                                      Mirrored mirrored);

// The same with the legacy revision that the head names, if it names one: where no session has a revision the
// client's own goes on with each request.
core::SharedFields with_revision(const http::HeaderList& headers, core::SharedFields fields);

// A digest of these, but for what differs with each request (trace context). For comparing alone.
size_t credentials_of(const core::HeaderFields& forwarded);
// A digest of `Authorization` alone; 0: it does not go up.
size_t authorization_of(const core::HeaderFields& forwarded);

}  // namespace lineward::client
