// The revision with which `initialize` is tried once more after a server has refused it (behaviour.md 8):
// some servers refuse a revision that they do not know instead of naming one. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mcp/message.h"
#include "upstream/http/http_messages.h"

namespace lineward::upstream {

// The newest of the legacy revisions that the refusal of an `initialize` with these parameters names; where
// it names none 2025-06-18, or nothing if `only` that counts. Empty: the refusal has nothing to do with
// revisions, or names the one that was tried. `answer`: the error in its body; null: there was none.
enum class Named : uint8_t { or_usual, only };
std::string other_revision(std::string_view params, const mcp::Message* answer, const MessagesEnd& end,
                           Named which = Named::or_usual);
// The parameters of an `initialize` with another revision; an empty one changes nothing.
std::string with_handshake_revision(std::string_view params, std::string_view revision);

}  // namespace lineward::upstream
