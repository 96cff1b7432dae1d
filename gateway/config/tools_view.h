// Names of tools as clients see them (`tools.overrides.TOOL.name`), and as their server has them. Settings
// and policies use the server's own names (docs/views.md).
#pragma once

#include <optional>
#include <string_view>

#include "config/config.h"

namespace lineward::config {

inline constexpr size_t kMaxShownTools = 1000;  // of one server
inline constexpr size_t kMaxToolName = 128;     // MCP server/tools, "Tool Names"

// Why this cannot be the name of a tool; empty: it can.
std::string_view tool_name_fault(std::string_view name);
// How the tool of that own name is shown; null: as it is.
const ShownTool* find_shown(const ToolsView& view, std::string_view own);
// The own name of the tool that clients know by `shown`. nullopt: clients know no such tool, because it has
// another name for them.
std::optional<std::string_view> own_name(const ToolsView& view, std::string_view shown);
// Has another tool got this tool's name, so that clients cannot reach this one?
bool is_name_taken(const ToolsView& view, std::string_view own);

}  // namespace lineward::config
