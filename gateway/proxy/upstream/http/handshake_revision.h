// The revision for a second `initialize` after a server has refused the first (behaviour.md 8): some servers
// refuse an unknown revision instead of offering one. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/mcp/message.h"
#include "proxy/upstream/http/http_messages.h"

namespace lineward::upstream {

// The newest legacy revision that the refusal of an `initialize` with these parameters names. If it names
// none: 2025-06-18, or empty with `only`. Empty: the refusal is not about revisions, or names the tried one.
// `answer`: the error in its body; null: none.
enum class Named : uint8_t { or_usual, only };
std::string other_revision(std::string_view params, const mcp::Message* answer, const MessagesEnd& end,
                           Named which = Named::or_usual);
// The parameters of an `initialize` with another revision; an empty one changes nothing.
std::string with_handshake_revision(std::string_view params, std::string_view revision);

}  // namespace lineward::upstream
