// 2024-11-05 ends with HTTP+SSE. Over Streamable HTTP a client of 2024-11-05 (on stdio or HTTP+SSE) is served
// in the next revision, which removes nothing. Its `initialize` requests that revision, and the answer names
// the client's own. Other requests and answers of legacy clients are forwarded with only their id changed.
//
// Functions without state. Text that cannot be parsed again is forwarded unchanged.
#pragma once

#include <string>

#include "proxy/upstream/http/http_session.h"

namespace lineward::upstream {

// A legacy client's request, as sent to the server of this session.
std::string legacy_request(const HttpSession& session, const HttpCall& call);
// The server's answer to it, as sent to the client.
mcp::Message legacy_answer(const HttpSession& session, const HttpCall& call, mcp::Message answer);
// The parameters of a client's own `initialize`, as sent to the server of this session.
std::string handshake_of(const HttpSession& session, const HttpCall& call);

}  // namespace lineward::upstream
