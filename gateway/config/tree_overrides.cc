// Limits by method and by tool: `methods: {glob: {timeouts: …}}` and `tools: {overrides: {glob: {timeouts:
// …}}}` of a server.
#include <fmt/format.h>

#include "config/names.h"
#include "config/tree_reader.h"

namespace lineward::config {

bool TreeReader::read_overrides_word(const Member& member, Server& server) {
  if (member.key == "methods") {
    read_overrides(member, server.method_timeouts);
    return true;
  }
  if (member.key != "tools") return read_tool_words(member, server);
  if (member.value.kind != NodeKind::mapping) {
    add("wrong-type", "'tools' is a map with allow, deny and overrides", member.value);
    return true;
  }
  for (const Member& child : member.value.members) {
    if (child.key == "overrides") {
      read_overrides(child, server.tool_timeouts);
    } else if (child.key == "allow" || child.key == "deny") {
      read_tool_names(child, child.key == "allow", server);
    } else {
      add("unknown-option", fmt::format("'{}' is not an option here", clip(child.key)), child).hint =
          "there are allow, deny and overrides";
    }
  }
  return true;
}

void TreeReader::read_overrides(const Member& member, std::vector<TimeoutOverride>& out) {
  if (member.value.kind != NodeKind::mapping) {
    add("wrong-type", fmt::format("'{}' is a map from a glob to its limits", member.key), member.value).hint =
        "write \"search_*\": { timeouts: { request: 2m } }";
    return;
  }
  for (const Member& glob : member.value.members) {
    const Member* timeouts = glob.value.kind == NodeKind::mapping ? glob.value.find("timeouts") : nullptr;
    if (timeouts == nullptr || timeouts->value.kind != NodeKind::mapping || glob.value.members.size() != 1) {
      add("wrong-type", fmt::format("'{}' takes timeouts: and nothing else", clip(glob.key)), glob).hint =
          "write { timeouts: { request: 2m } }";
      continue;
    }
    TimeoutOverride limits;
    limits.pattern = glob.key;
    for (const Member& limit : timeouts->value.members) {
      Server scratch;
      if (limit.key != "request" && limit.key != "maxDuration" && limit.key != "progressResets") {
        add("unknown-option", fmt::format("'{}' is not a limit of a method or tool", clip(limit.key)), limit)
            .hint = "request, maxDuration and progressResets are";
        continue;
      }
      read_member("mcpServers.*.timeouts", limit, scratch);
      if (limit.key == "request") limits.request = scratch.timeouts.request;
      if (limit.key == "maxDuration") limits.max_duration = scratch.timeouts.max_duration;
      if (limit.key == "progressResets") limits.progress_resets = scratch.timeouts.progress_resets;
    }
    out.push_back(std::move(limits));
  }
}

}  // namespace lineward::config
