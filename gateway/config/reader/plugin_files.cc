#include "config/reader/plugin_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "config/auth_blocks.h"
#include "config/options/read_value.h"
#include "config/reader/listeners.h"

namespace lineward::config {
namespace {

const Member* at_line(const Member* found, int line) {
  return found != nullptr && found->line == line ? found : nullptr;
}

// The entry's member in the file: below auth:, at the top, or in the list of plugins.
const Member* member_of(const Node& root, const PluginEntry& entry) {
  if (!entry.listener.empty()) {
    const Member* listener = find_listener(root, entry.listener);
    const Member* own = listener != nullptr ? listener->value.find("auth") : nullptr;
    return own != nullptr ? at_line(own->value.find(entry.type), entry.line) : nullptr;
  }
  if (const Member* auth = root.find("auth")) {
    if (const Member* found = at_line(auth->value.find(entry.type), entry.line)) return found;
  }
  if (const Member* found = at_line(root.find(entry.type), entry.line)) return found;
  const Member* list = root.find("plugins");
  if (list == nullptr) return nullptr;
  for (const Node& item : list->value.items) {
    if (entry.type == "sharedObject" && item.line == entry.line) return item.find("path");
    if (const Member* found = at_line(item.find(entry.type), entry.line)) return found;
  }
  return nullptr;
}

// The entry's option "a.b", or the deepest existing part of that path.
const Member& option_of(const Member& entry, std::string_view option) {
  const Member* at = &entry;
  while (!option.empty()) {
    const size_t dot = std::min(option.find('.'), option.size());
    const Member* next = at->value.find(option.substr(0, dot));
    if (next == nullptr) break;
    at = next;
    option.remove_prefix(std::min(option.size(), dot + 1));
  }
  return *at;
}

// An entry with errors was not read completely.
bool has_errors(const Member& member, const LoadResult& result) {
  return std::any_of(result.diagnostics.begin(), result.diagnostics.end(), [&](const Diagnostic& one) {
    return one.severity == Severity::error && one.line >= member.line && one.line <= member.value.end_line;
  });
}

}  // namespace

void check_plugin_files(const Node& root, const LoadOptions& options, LoadResult& result) {
  if (!options.read_files || !options.look_at_plugins || options.plugins == nullptr) return;
  std::vector<const std::vector<PluginEntry>*> lists;
  each_auth(result.config, [&](const Auth& auth) { lists.push_back(&auth.methods); });
  lists.push_back(&result.config.plugins);
  for (const auto* list : lists) {
    for (const PluginEntry& entry : *list) {
      const Member* member = member_of(root, entry);
      if (member == nullptr || has_errors(*member, result)) continue;
      std::vector<PluginFinding> found;
      if (entry.type == "sharedObject") {
        const std::string path = entry.path_of(entry.path);
        if (!path.empty() && ::access(path.c_str(), R_OK) != 0)
          found.push_back({"path", "missing-file", fmt::format("{}: {}", clip(path), std::strerror(errno)),
                           "name the shared object of a plugin"});
      } else if (const PluginSpec* spec = find_spec(*options.plugins, entry.type);
                 spec != nullptr && spec->look != nullptr) {
        spec->look(entry, found);
      }
      for (PluginFinding& one : found) {
        const Member& at = option_of(*member, one.option);
        Diagnostic diagnostic;
        diagnostic.code = std::move(one.code);
        diagnostic.severity = one.warns ? Severity::warning : Severity::error;
        diagnostic.message = fmt::format("{}: {}", entry.name, one.message);
        if (!one.option.empty())
          diagnostic.message = fmt::format("{}.{}: {}", entry.name, one.option, one.message);
        diagnostic.hint = std::move(one.hint);
        diagnostic.line = at.line;
        diagnostic.column = at.column;
        diagnostic.length = at.length;
        result.diagnostics.push_back(std::move(diagnostic));
      }
    }
  }
}

}  // namespace lineward::config
