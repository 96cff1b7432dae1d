#include "protocol/mcp/server_self.h"

#include "foundation/json/json_member.h"

namespace lineward::mcp {
namespace {

bool is_true(std::string_view object, std::string_view outer, std::string_view inner) {
  auto value = json::member(object, outer);
  return value && json::member(*value, inner) == "true";
}

}  // namespace

void read_capability_flags(std::string_view capabilities, ServerSelf& server) {
  server.tools_list_changed = is_true(capabilities, "tools", "listChanged");
  server.prompts_list_changed = is_true(capabilities, "prompts", "listChanged");
  server.resources_list_changed = is_true(capabilities, "resources", "listChanged");
  server.resources_subscribe = is_true(capabilities, "resources", "subscribe");
  server.logging = json::member(capabilities, "logging").has_value();
}

}  // namespace lineward::mcp
