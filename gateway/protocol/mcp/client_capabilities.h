// Converts the capabilities that a modern client declares with each request to those of a legacy `initialize`
// (2026-07-28 and 2025-11-25 schema, ClientCapabilities).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/mcp/message.h"

namespace lineward::mcp {

// The longest declaration, without white space, that may identify a group of callers.
inline constexpr size_t kMaxCapabilityBytes = 4096;

struct LegacyCapabilities {
  std::string object = "{}";  // in a fixed order and without white space, for comparison
  bool may_be_asked = false;  // contains elicitation, sampling or roots
};

// `declared` is the object of `_meta["io.modelcontextprotocol/clientCapabilities"]`. Members that legacy
// revisions do not have, or that a modern client cannot serve (roots.listChanged, tasks), are omitted.
// `told`: a legacy client, which does notify changes of its roots.
enum class RootsChanges : bool { untold, told };
LegacyCapabilities legacy_capabilities(std::string_view declared, RootsChanges roots = RootsChanges::untold);

// Do these capabilities (of either era) cover a server's question?
bool declares(std::string_view capabilities, const Message& question);
// Do they cover any question?
bool declares_any(std::string_view capabilities);

}  // namespace lineward::mcp
