// What a modern client declares with each request, as the `initialize` of the old revisions has it
// (2026-07-28 and 2025-11-25 schema, ClientCapabilities).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "mcp/message.h"

namespace lineward::mcp {

// The longest declaration, without white space, that names a group of callers.
inline constexpr size_t kMaxCapabilityBytes = 4096;

struct LegacyCapabilities {
  std::string object = "{}";  // in a fixed order and without white space: equal ones compare equal
  bool may_be_asked = false;  // elicitation, sampling or roots are among them
};

// `declared` is the object of `_meta["io.modelcontextprotocol/clientCapabilities"]`. What the old revisions
// do not have, or what a modern client cannot keep (roots.listChanged, tasks), is left out.
// `told`: the client is a legacy one, which does say when its roots change.
enum class RootsChanges : bool { untold, told };
LegacyCapabilities legacy_capabilities(std::string_view declared, RootsChanges roots = RootsChanges::untold);

// Whether those capabilities (of either era) cover this question of a server.
bool declares(std::string_view capabilities, const Message& question);
// Whether they cover some question.
bool declares_any(std::string_view capabilities);

}  // namespace lineward::mcp
