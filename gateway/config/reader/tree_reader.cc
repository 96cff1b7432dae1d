#include "config/reader/tree_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/options/read_value.h"
#include "config/reader/plugin_reader.h"

namespace lineward::config {
namespace {

constexpr std::array<std::string_view, 3> kEditorWords = {"inputs", "globalShortcut", "preferences"};

}  // namespace

TreeReader::TreeReader(Config& config, std::vector<Diagnostic>& diagnostics, VariableSources sources,
                       const PluginSpecs* plugins)
    : values_(diagnostics, std::move(sources)),
      options_(values_, config),
      plugins_(plugins == nullptr
                   ? nullptr
                   : std::make_unique<PluginReader>(values_, config, *plugins, values_.sources().directory)),
      servers_(values_, options_, config, defaults_, plugins_.get()) {}

TreeReader::~TreeReader() = default;

void TreeReader::read(const Node& root, bool client_file, const std::set<std::string>& running,
                      const std::function<void()>& between) {
  if (root.kind == NodeKind::null) return;
  if (root.kind != NodeKind::mapping) {
    values_.add("wrong-type", "a configuration is a map of options such as listen: and mcpServers:", root);
    return;
  }
  // Servers copy the defaults when they are created, so `defaults:` is read first, wherever it is in the
  // file.
  if (const Member* defaults = root.find("defaults"); defaults != nullptr) read_defaults(*defaults);
  values_.read_for(std::string());
  if (client_file) servers_.be_lenient(root, running);
  for (const Member& member : root.members) {
    if (member.key != "defaults") read_top(member);
  }
  if (between) between();
  servers_.finish(root);
  std::vector<Auth*> own;
  std::vector<std::string> names;
  for (WrittenListener& one : listeners_) {
    names.push_back(one.name);
    if (one.auth.given) own.push_back(&one.auth);
  }
  if (plugins_) plugins_->finish(own, names);
}

void TreeReader::read_included(const IncludedFile& file, const std::string& main) {
  const Node& root = file.document.root;
  if (root.kind == NodeKind::null) return;
  if (root.kind != NodeKind::mapping) {
    values_.add("wrong-type", "an included file is a map with mcpServers", root);
    return;
  }
  servers_.begin_file(file.path, main);
  for (const Member& member : root.members) {
    if (member.key == "mcpServers") {
      servers_.read(member);
    } else if (!file.is_own || member.key != "disabled") {
      values_
          .add("not-included", fmt::format("'{}' cannot stand in an included file", clip(member.key)), member)
          .hint = "mcpServers alone; the rest belongs to the file that includes it";
    }
  }
  servers_.begin_file({}, main);
  values_.read_for(std::string());
}

bool is_client_file(const Node& root, Syntax syntax) {
  const auto is_clients = [](const Member& member) {
    return member.key == "$schema" || member.key == "mcpServers" || member.key == "servers" ||
           std::find(kEditorWords.begin(), kEditorWords.end(), member.key) != kEditorWords.end();
  };
  return syntax == Syntax::json && root.kind == NodeKind::mapping && !root.members.empty() &&
         std::all_of(root.members.begin(), root.members.end(), is_clients);
}

void TreeReader::read_top(const Member& member) {
  if (member.key == "$schema") return;
  if (member.key == "mcpServers" || member.key == "servers") return servers_.read(member);
  if (std::find(kEditorWords.begin(), kEditorWords.end(), member.key) != kEditorWords.end()) {
    values_
        .add("ignored-option", fmt::format("'{}' concerns the client only and is ignored", member.key),
             member)
        .severity = Severity::info;
    return;
  }
  if (member.key == kListeners) return read_listeners(values_, plugins_.get(), member, listeners_);
  if (plugins_ && plugins_->read(member)) return;
  Server unused;
  options_.read("", member, unused);
}

void TreeReader::read_defaults(const Member& member) {
  if (member.value.kind == NodeKind::null) return;
  if (member.value.kind != NodeKind::mapping) {
    values_.add("wrong-type", "'defaults' is a map with timeouts, limits, restart and stop", member.value);
    return;
  }
  for (const Member& child : member.value.members) {
    const Option* option = find_option(std::string(kServerPrefix) + child.key);
    if (option == nullptr || option->inherited()) {
      options_.read("mcpServers.*", child, defaults_);
      continue;
    }
    values_
        .add("not-inherited",
             fmt::format("'{}' belongs to one server and cannot stand under defaults", child.key), child)
        .hint = "start, timeouts, limits, restart and stop can";
  }
}

}  // namespace lineward::config
