// 2024-11-05 ends with HTTP+SSE. Over Streamable HTTP a client of it, which is on stdio or on HTTP+SSE, is
// served in its successor, which takes nothing away: its `initialize` asks for that, and is answered as if it
// had not. Any other request of a legacy client, and any other answer, passes with its id alone changed.
//
// Functions without state. What cannot be parsed again passes as it is.
#pragma once

#include <string>

#include "upstream/http/http_session.h"

namespace lineward::upstream {

// A legacy client's request as the server of this session is to get it.
std::string legacy_request(const HttpSession& session, const HttpCall& call);
// The server's answer to it as the client is to get it.
mcp::Message legacy_answer(const HttpSession& session, const HttpCall& call, mcp::Message answer);
// The parameters of a client's own `initialize` as the server of this session got them.
std::string handshake_of(const HttpSession& session, const HttpCall& call);

}  // namespace lineward::upstream
