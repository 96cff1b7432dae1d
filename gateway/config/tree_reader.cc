#include "config/tree_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/names.h"
#include "config/plugin_reader.h"

namespace lineward::config {
namespace {

struct Later {
  std::string_view path;
  std::string_view what;
};

// Options that exist as words before their feature does: refused by name, because ignoring a policy is worse.
constexpr Later kLater[] = {
    {"listen.tls", "TLS on the listener"},
    {"listen.trustedProxies", "trusted proxies"},
    {"health", "health checks of servers"},
    {"retry", "retries"},
    {"tools", "tool filters"},
    {"telemetry", "telemetry export"},
    {"mcpServers.*.rateLimit", "rate limiting"},
    {"mcpServers.*.health", "health checks of servers"},
    {"mcpServers.*.restart.policy", "a restart policy other than always"},
};

bool says(const Node& node, std::string_view word) {
  return node.kind == NodeKind::scalar && node.text == word;
}

// The values that ask for what happens anyway.
bool is_harmless(std::string_view path, const Node& value) {
  if (path == "mcpServers.*.restart.policy") return says(value, "always");
  return false;
}

std::string join(const std::string& group, std::string_view name) {
  return group.empty() ? std::string(name) : fmt::format("{}.{}", group, name);
}

bool below_servers(std::string_view path) {
  return path.substr(0, 10) == "mcpServers";
}

// As a user would write it from where he stands: only the last word inside the same group.
std::string spell_target(const std::string& group, std::string_view target) {
  std::string prefix = group + ".";
  if (target.substr(0, prefix.size()) == prefix) return std::string(target.substr(prefix.size()));
  if (target.substr(0, kServerPrefix.size()) != kServerPrefix) return std::string(target);
  std::string key(target.substr(kServerPrefix.size()));
  bool inherited = key.find('.') != std::string::npos;
  return below_servers(group) || !inherited ? key : "defaults." + key;
}

std::string help_topic(std::string_view target) {
  if (target.substr(0, kServerPrefix.size()) == kServerPrefix) target.remove_prefix(kServerPrefix.size());
  size_t dot = target.find('.');
  return dot == std::string_view::npos ? "servers" : std::string(target.substr(0, dot));
}

}  // namespace

TreeReader::TreeReader(Config& config, std::vector<Diagnostic>& diagnostics, VariableSources sources,
                       const PluginSpecs* plugins)
    : config_(config), diagnostics_(diagnostics), sources_(std::move(sources)) {
  if (plugins != nullptr)
    plugins_ = std::make_unique<PluginReader>(*this, config_, *plugins, sources_.directory);
}

TreeReader::~TreeReader() = default;

Diagnostic& TreeReader::add(std::string code, std::string message, const Node& at) {
  Diagnostic diagnostic;
  diagnostic.code = std::move(code);
  diagnostic.message = std::move(message);
  diagnostic.line = at.line;
  diagnostic.column = at.column;
  diagnostic.length = at.length;
  diagnostics_.push_back(std::move(diagnostic));
  return diagnostics_.back();
}

Diagnostic& TreeReader::add(std::string code, std::string message, const Member& at) {
  Diagnostic& diagnostic = add(std::move(code), std::move(message), at.value);
  diagnostic.line = at.line;
  diagnostic.column = at.column;
  diagnostic.length = at.length;
  return diagnostic;
}

void TreeReader::read(const Node& root) {
  if (root.kind == NodeKind::null) return;
  if (root.kind != NodeKind::mapping) {
    add("wrong-type", "a configuration is a map of options such as listen: and mcpServers:", root);
    return;
  }
  // Servers copy the defaults when they are made, wherever in the file those stand.
  if (const Member* defaults = root.find("defaults"); defaults != nullptr) read_defaults(*defaults);
  reading_.emplace();
  for (const Member& member : root.members) {
    if (member.key != "defaults") read_top(member);
  }
  if (plugins_) plugins_->finish();
}

void TreeReader::read_top(const Member& member) {
  static constexpr std::array<std::string_view, 3> kEditorWords = {"inputs", "globalShortcut", "preferences"};
  if (member.key == "$schema") return;
  if (member.key == "mcpServers" || member.key == "servers") return read_servers(member);
  if (std::find(kEditorWords.begin(), kEditorWords.end(), member.key) != kEditorWords.end()) {
    add("ignored-option", fmt::format("'{}' concerns the client only and is ignored", member.key), member)
        .severity = Severity::info;
    return;
  }
  if (plugins_ && plugins_->read(member)) return;
  Server unused;
  read_member("", member, unused);
}

void TreeReader::read_defaults(const Member& member) {
  if (member.value.kind == NodeKind::null) return;
  if (member.value.kind != NodeKind::mapping) {
    add("wrong-type", "'defaults' is a map with timeouts, limits, restart and stop", member.value);
    return;
  }
  for (const Member& child : member.value.members) {
    const Option* option = find_option(std::string(kServerPrefix) + child.key);
    if (option == nullptr) {
      read_member("mcpServers.*", child, defaults_);
      continue;
    }
    add("not-inherited", fmt::format("'{}' belongs to one server and cannot stand under defaults", child.key),
        child)
        .hint = "timeouts, limits, restart and stop can";
  }
}

bool TreeReader::not_built(const std::string& path, const Member& member) {
  for (const Later& later : kLater) {
    if (later.path != path) continue;
    if (is_harmless(path, member.value)) return true;
    Diagnostic& diagnostic =
        add("not-built",
            fmt::format("'{}' is not built yet: {}", spell_target("mcpServers.*", path), later.what), member);
    diagnostic.hint = "remove it";
    return true;
  }
  return false;
}

void TreeReader::read_member(const std::string& group, const Member& member, Server& server) {
  std::string path = join(group, member.key);
  if (not_built(path, member)) return;
  // A dot in a key would reach into another group; "*" is no name of anybody's.
  bool plain = member.key.find_first_of(".*") == std::string::npos && !member.key.empty();
  const Option* option = plain ? find_option(path) : nullptr;
  if (option != nullptr) return set_option(*option, member.value, server);
  if (!plain || !is_group(path)) return unknown(group, member);
  if (member.value.kind == NodeKind::null) return;
  if (says(member.value, "off") && (path == "ops" || path == "admin"))
    return set_option(*find_option(path + ".address"), member.value, server);
  if (member.value.kind != NodeKind::mapping) {
    add("wrong-type", fmt::format("'{}' is a map with {}", member.key, fmt::join(children(path), ", ")),
        member.value);
    return;
  }
  for (const Member& child : member.value.members)
    read_member(path, child, server);
}

void TreeReader::unknown(const std::string& group, const Member& member) {
  const Option* meant = nullptr;
  Diagnostic& diagnostic =
      add("unknown-option", fmt::format("'{}' is not an option here", clip(member.key)), member);
  suggest(group, member, diagnostic, meant);
  // Its value may be wrong too; the user should not learn that only after renaming it.
  if (meant == nullptr || meant->kind == Kind::list || meant->kind == Kind::map) return;
  Value unused;
  if (member.value.kind == NodeKind::scalar) read_scalar(*meant, member.value, unused);
}

void TreeReader::suggest(const std::string& group, const Member& member, Diagnostic& diagnostic,
                         const Option*& meant) {
  std::vector<std::string_view> siblings = children(group);
  if (group.empty()) siblings.push_back("defaults");
  auto did_you_mean = [&](std::string_view words) {
    diagnostic.hint = fmt::format("did you mean '{}'?", words);
  };
  for (std::string_view sibling : siblings) {
    if (normalised(sibling) != normalised(clip(member.key))) continue;
    meant = find_option(join(group, sibling));
    return did_you_mean(sibling);
  }
  const Synonym* synonym = find_synonym(member.key, below_servers(group));
  if (synonym != nullptr &&
      (below_servers(group) || synonym->target.substr(0, 10) != "mcpServers" || group.empty())) {
    std::string target = spell_target("mcpServers.*", synonym->target);
    did_you_mean(spell_target(group, synonym->target));
    if (!synonym->said_by.empty()) {
      diagnostic.note = fmt::format("{} calls it {}; here it is {} (lineward help {})", synonym->said_by,
                                    member.key, target, help_topic(synonym->target));
    }
    meant = find_option(synonym->target);
    return;
  }
  std::string_view likely = nearest(member.key, siblings);
  if (!likely.empty()) {
    meant = find_option(join(group, likely));
    return did_you_mean(likely);
  }
  for (const Option& option : options()) {
    bool same_side = option.per_server() == below_servers(group) || group.empty();
    if (!same_side || option.leaf() != member.key) continue;
    diagnostic.hint = fmt::format("it belongs elsewhere: {}", spell_target(group, option.path));
    return;
  }
}

}  // namespace lineward::config
