#include "config/tools_view.h"

#include <algorithm>

namespace lineward::config {
namespace {

const ShownTool* find_renamed(const ToolsView& view, std::string_view shown) {
  auto found = std::find_if(view.shown.begin(), view.shown.end(),
                            [&](const ShownTool& tool) { return tool.name == shown; });
  return found == view.shown.end() ? nullptr : &*found;
}

}  // namespace

std::string_view tool_name_fault(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (!plain || name.empty() || name.size() > kMaxToolName)
    return "a tool's name is made of 1 to 128 of A-Z a-z 0-9 _ - .";
  return {};
}

const ShownTool* find_shown(const ToolsView& view, std::string_view own) {
  auto found =
      std::lower_bound(view.shown.begin(), view.shown.end(), own,
                       [](const ShownTool& tool, std::string_view name) { return tool.tool < name; });
  return found == view.shown.end() || found->tool != own ? nullptr : &*found;
}

std::optional<std::string_view> own_name(const ToolsView& view, std::string_view shown) {
  if (const ShownTool* renamed = find_renamed(view, shown)) return renamed->tool;
  const ShownTool* same = find_shown(view, shown);
  if (same != nullptr && same->name) return std::nullopt;
  return shown;
}

bool is_name_taken(const ToolsView& view, std::string_view own) {
  const ShownTool* its = find_shown(view, own);
  return (its == nullptr || !its->name) && find_renamed(view, own) != nullptr;
}

}  // namespace lineward::config
