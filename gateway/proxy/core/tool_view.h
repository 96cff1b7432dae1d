// The view that clients have of a server's tools (docs/views.md). Requests get the server's own names before
// anything else judges them. Lists get the names for clients after everything else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/config.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/tool_hints.h"
#include "proxy/core/upstream.h"

namespace lineward::core {

// Are tools with these hints in such a view?
bool is_allowed(config::ToolsOnly only, const mcp::ToolHints& hints);
// The refusal of a call of a tool that does not exist for the client, as a policy's refusal of a hidden tool.
Failure unknown_tool(std::string_view name);
// The tool that the request names: of a call, or of a reference of a completion that is neither a prompt's
// nor a resource's. Empty: none.
std::string tool_named_by(mcp::Method method, const mcp::Message& request);

enum class Naming : uint8_t { same, renamed, unknown };
// Gives the request the server's own name of its tool. unknown: clients know no such tool.
Naming to_own_name(const config::ToolsView& view, mcp::Method method, mcp::Message& request);
// The error text of a renamed request: an unknown tool is named as the client named it.
std::string with_shown_name(const config::ToolsView& view, std::string text);
// The result of tools/list as clients see it.
void show_tools(const config::Server& server, mcp::Message& list);

}  // namespace lineward::core
