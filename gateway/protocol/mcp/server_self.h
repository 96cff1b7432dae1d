// A server's self-description in its first answer, `initialize` or server/discover: raw JSON, and flags for
// the capabilities that decide which requests it gets. The form is the same in both eras.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lineward::mcp {

struct ServerSelf {
  std::string info;          // Implementation
  std::string capabilities;  // without those that are not translated to the other era
  std::string instructions;  // a string, or empty
  bool tools_list_changed = false;
  bool prompts_list_changed = false;
  bool resources_list_changed = false;
  bool resources_subscribe = false;
  bool logging = false;
};

// Sets the flags from the server's original `capabilities` object.
void read_capability_flags(std::string_view capabilities, ServerSelf& server);
// The size of its texts.
inline size_t bytes_of(const ServerSelf& server) {
  return server.info.size() + server.capabilities.size() + server.instructions.size();
}

}  // namespace lineward::mcp
