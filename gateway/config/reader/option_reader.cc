#include "config/reader/option_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/options/names.h"
#include "config/options/read_value.h"
#include "config/reader/tls.h"

namespace lineward::config {
namespace {

struct Later {
  std::string_view path;
  std::string_view what;
};

// Options named before their feature exists: refused by name, because ignoring a policy is worse.
constexpr Later kLater[] = {
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

// Values that request the existing behaviour.
bool is_harmless_option(std::string_view path, const Node& value) {
  if (path == "mcpServers.*.restart.policy") return says(value, "always");
  return false;
}

std::string join(const std::string& group, std::string_view name) {
  return group.empty() ? std::string(name) : fmt::format("{}.{}", group, name);
}

bool below_servers(std::string_view path) {
  return path.substr(0, 10) == "mcpServers";
}

// The option as written from within this group: only the last word inside the same group.
std::string spell_target(const std::string& group, std::string_view target) {
  std::string prefix = group + ".";
  if (target.substr(0, prefix.size()) == prefix) return std::string(target.substr(prefix.size()));
  if (target.substr(0, kServerPrefix.size()) != kServerPrefix) return std::string(target);
  std::string key(target.substr(kServerPrefix.size()));
  bool inherited = key.find('.') != std::string::npos;
  return below_servers(group) || !inherited ? key : "defaults." + key;
}

// Each server has "timeouts.request".
std::string place_of_server_option(const Option& option) {
  return fmt::format("{}, under a server{}", option.key(), option.inherited() ? " or `defaults:`" : "");
}

std::string help_topic(std::string_view target) {
  if (target.substr(0, kServerPrefix.size()) == kServerPrefix) target.remove_prefix(kServerPrefix.size());
  size_t dot = target.find('.');
  return dot == std::string_view::npos ? "servers" : std::string(target.substr(0, dot));
}

}  // namespace

void OptionReader::set(const Option& option, const Node& node, Server& server) {
  Value value;
  if (values_.read_option(option, node, value)) option.set(config_, server, value);
}

bool OptionReader::not_built(const std::string& path, const Member& member) {
  for (const Later& later : kLater) {
    if (later.path != path) continue;
    if (is_harmless_option(path, member.value)) return true;
    Diagnostic& diagnostic = values_.add(
        "not-built", fmt::format("'{}' is not built yet: {}", spell_target("mcpServers.*", path), later.what),
        member);
    diagnostic.hint = "remove it";
    return true;
  }
  return false;
}

void OptionReader::read(const std::string& group, const Member& member, Server& server) {
  std::string path = join(group, member.key);
  if (not_built(path, member)) return;
  if (path == "listen.tls.certificates") return read_certificates(values_, member, config_.listen.tls);
  // A dot in a key would reach into another group; "*" is never a server name.
  bool plain = member.key.find_first_of(".*") == std::string::npos && !member.key.empty();
  const Option* option = plain ? find_option(path) : nullptr;
  if (option != nullptr) return set(*option, member.value, server);
  if (!plain || !is_group(path)) return unknown(group, member);
  if (member.value.kind == NodeKind::null) return;
  if (says(member.value, "off") && (path == "ops" || path == "admin"))
    return set(*find_option(path + ".address"), member.value, server);
  if (member.value.kind != NodeKind::mapping) {
    values_.add("wrong-type",
                fmt::format("'{}' is a map with {}", member.key, fmt::join(children(path), ", ")),
                member.value);
    return;
  }
  for (const Member& child : member.value.members)
    read(path, child, server);
}

void OptionReader::unknown(const std::string& group, const Member& member) {
  const Option* meant = nullptr;
  Diagnostic& diagnostic =
      values_.add("unknown-option", fmt::format("'{}' is not an option here", clip(member.key)), member);
  suggest(group, member, diagnostic, meant);
  // The value may be wrong too: report that now, not after the user renames the option.
  if (meant == nullptr || meant->kind == Kind::list || meant->kind == Kind::map) return;
  Value unused;
  if (member.value.kind == NodeKind::scalar) values_.read_scalar(*meant, member.value, unused);
}

void OptionReader::suggest(const std::string& group, const Member& member, Diagnostic& diagnostic,
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
  // A group or option that belongs to each server.
  const std::string there = std::string(kServerPrefix) + member.key;
  for (const Option& option : options()) {
    if (!group.empty() || (option.path != there && option.path.rfind(there + ".", 0) != 0)) continue;
    diagnostic.hint =
        fmt::format("it stands under {}", option.inherited() ? "a server or `defaults:`" : "a server");
    return;
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
  // A word close to another product's name for an option.
  if (const std::string_view word = nearest_synonym(member.key, below_servers(group)); !word.empty()) {
    const Synonym* near = find_synonym(word, below_servers(group));
    meant = find_option(near->target);
    return did_you_mean(spell_target(group, near->target));
  }
  for (const Option& option : options()) {
    bool same_side = option.per_server() == below_servers(group) || group.empty();
    if (!same_side || option.leaf() != member.key) continue;
    diagnostic.hint = option.per_server() && group.empty()
                          ? fmt::format("it belongs elsewhere: {}", place_of_server_option(option))
                          : fmt::format("it belongs elsewhere: {}", spell_target(group, option.path));
    return;
  }
}

}  // namespace lineward::config
