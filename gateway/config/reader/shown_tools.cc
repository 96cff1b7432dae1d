#include "config/reader/shown_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "config/options/plugin_spec.h"
#include "config/options/read_value.h"
#include "config/tools_view.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxTitle = 256;
constexpr size_t kMaxDescription = 16 * 1024;

bool is_glob(std::string_view name) {
  return name.find_first_of("*?") != std::string_view::npos;
}

std::string fault_of(std::string_view word, std::string_view text) {
  if (word == "name") return std::string(tool_name_fault(text));
  if (word == "title" && text.empty()) return "a title has at least one character";
  const size_t most = word == "title" ? kMaxTitle : kMaxDescription;
  return text.size() > most ? fmt::format("a tool's {} has at most {} bytes", word, most) : std::string();
}

}  // namespace

bool read_shown_word(ValueReader& values, const Member& tool, const Member& word, ShownTool& out) {
  static const Option kText = plugin_option("text", Kind::text, "", 0, 0, "");
  if (word.key != "name" && word.key != "title" && word.key != "description") return false;
  if (is_glob(tool.key)) {
    values.add("bad-value", fmt::format("'{}' is a glob: {} is for one tool", clip(tool.key), word.key), word)
        .hint = "write the server's own name of the tool";
    return true;
  }
  Value value;
  if (!values.read_scalar(kText, word.value, value)) return true;
  if (const std::string fault = fault_of(word.key, value.text); !fault.empty()) {
    values.add("bad-value", fault, word.value);
    return true;
  }
  out.tool = tool.key;
  if (word.key == "title") out.title = std::move(value.text);
  if (word.key == "description") out.description = std::move(value.text);
  if (word.key == "name" && value.text != tool.key) out.name = std::move(value.text);
  return true;
}

void finish_shown_tools(ValueReader& values, const Member& overrides, std::vector<ShownTool> shown,
                        Server& server) {
  if (shown.size() > kMaxShownTools) {
    values.add("too-many",
               fmt::format("more than {} tools of one server are shown otherwise", kMaxShownTools),
               overrides);
    return;
  }
  std::sort(shown.begin(), shown.end(),
            [](const ShownTool& one, const ShownTool& other) { return one.tool < other.tool; });
  server.tools.shown = std::move(shown);
  // From a name for clients to the own names of the tools that get it. Globs name no certain tool.
  std::map<std::string, std::string> owners;
  for (const Member& tool : overrides.value.members) {
    if (is_glob(tool.key)) continue;
    const ShownTool* its = find_shown(server.tools, tool.key);
    const std::string name = its != nullptr && its->name ? *its->name : tool.key;
    const auto [owner, is_first] = owners.emplace(name, tool.key);
    if (is_first || owner->second == tool.key) continue;
    values
        .add("duplicate-key",
             fmt::format("the tools '{}' and '{}' are both called '{}'", clip(owner->second), clip(tool.key),
                         clip(name)),
             tool)
        .hint = "give one of them another name";
  }
}

}  // namespace lineward::config
