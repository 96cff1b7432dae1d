// The revisions of handshakes over HTTP. Pure functions; text that cannot be parsed again is forwarded
// unchanged.
#pragma once

#include <string>
#include <string_view>

#include "protocol/mcp/message.h"
#include "proxy/upstream/http/http_messages.h"

namespace lineward::upstream {

class HttpCall;
class HttpSession;

// ---- a second `initialize` (behaviour.md 8): some servers refuse an unknown revision and offer none ----

// The newest legacy revision that the refusal of an `initialize` with these parameters names. If it names
// none: 2025-06-18, or empty with `only`. Empty: the refusal is not about revisions, or names the tried one.
// `answer`: the error in its body; null: none.
enum class Named : uint8_t { or_usual, only };
std::string other_revision(std::string_view params, const mcp::Message* answer, const MessagesEnd& end,
                           Named which = Named::or_usual);
// The parameters of an `initialize` with another revision; an empty one changes nothing.
std::string with_handshake_revision(std::string_view params, std::string_view revision);

// ---- 2024-11-05, which ends with HTTP+SSE ----

// Over Streamable HTTP a client of 2024-11-05 (on stdio or HTTP+SSE) is served in the next revision, which
// removes nothing. Its `initialize` requests that revision, and the answer names the client's own. Other
// requests and answers of legacy clients are forwarded with only their id changed.

// A legacy client's request, as sent to the server of this session.
std::string legacy_request(const HttpSession& session, const HttpCall& call);
// The server's answer to it, as sent to the client.
mcp::Message legacy_answer(const HttpSession& session, const HttpCall& call, mcp::Message answer);
// The parameters of a client's own `initialize`, as sent to the server of this session.
std::string handshake_of(const HttpSession& session, const HttpCall& call);

}  // namespace lineward::upstream
