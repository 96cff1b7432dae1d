// What a server says of itself in its first answer, `initialize` or server/discover: raw JSON, and of its
// capabilities those that decide what it is asked. Both eras have them in the same form.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lineward::mcp {

struct ServerSelf {
  std::string info;          // Implementation
  std::string capabilities;  // without what does not cross to the other era
  std::string instructions;  // a string, or empty
  bool tools_list_changed = false;
  bool prompts_list_changed = false;
  bool resources_list_changed = false;
  bool resources_subscribe = false;
  bool logging = false;
};

// Sets the flags by what the server declared: the object `capabilities`, as it came.
void read_capability_flags(std::string_view capabilities, ServerSelf& server);
// What its texts take.
inline size_t bytes_of(const ServerSelf& server) {
  return server.info.size() + server.capabilities.size() + server.instructions.size();
}

}  // namespace lineward::mcp
