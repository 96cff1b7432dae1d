// Which tools of one server clients may see and call, as it stands beside the server: `tools: {allow, deny}`,
// `includeTools` and `excludeTools` (Gemini CLI, Envoy AI Gateway), `options: {toolFilter: {mode, list}}`
// (TBXark). All become one toolFilter for that server.
#include <fmt/format.h>

#include "config/names.h"
#include "config/plugin_reader.h"
#include "config/tree_reader.h"

namespace lineward::config {

bool TreeReader::read_tool_words(const Member& member, const Server& server) {
  if (member.key == "includeTools" || member.key == "excludeTools") {
    read_tool_names(member, member.key == "includeTools", server);
    return true;
  }
  const Member* filter = nullptr;
  if (member.key == "options" && member.value.kind == NodeKind::mapping && member.value.members.size() == 1 &&
      member.value.members[0].key == "toolFilter")
    filter = &member.value.members[0];
  if (filter == nullptr || filter->value.kind != NodeKind::mapping) return false;
  const Member* mode = filter->value.find("mode");
  const Member* list = filter->value.find("list");
  bool allow = mode != nullptr && mode->value.text == "allow";
  bool fine = mode != nullptr && list != nullptr && filter->value.members.size() == 2 &&
              (allow || mode->value.text == "block");
  if (!fine) {
    add("wrong-type", "'toolFilter' takes mode: allow or block, and list", *filter).hint =
        "write tools: { allow: [...] } or tools: { deny: [...] }";
    return true;
  }
  read_tool_names(*list, allow, server);
  return true;
}

void TreeReader::read_tool_names(const Member& member, bool allow, const Server& server) {
  static const Option kNames = plugin_option("tools", Kind::list, "", 0, 0, "");
  Value value;
  if (!read_list(kNames, member.value, value)) return;
  // An empty list of what is allowed is not "all", and nobody means "none".
  if (allow && value.list.empty()) {
    add("bad-value", fmt::format("'{}' is empty: it would allow no tool at all", member.key), member).hint =
        "remove it, or disable the server";
    return;
  }
  if (!plugins_) {
    add("not-built", "there is no tool filter here", member);
    return;
  }
  plugins_->filter_tools(server.name, allow, std::move(value.list), member.line);
}

}  // namespace lineward::config
