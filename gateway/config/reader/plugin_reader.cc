#include "config/reader/plugin_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "config/options/auth_options.h"
#include "config/options/names.h"
#include "config/options/read_value.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxPlugins = 64;
constexpr size_t kMaxRawOptions = 256;

const Option* row_named(const std::vector<Option>& rows, std::string_view path) {
  for (const Option& row : rows) {
    if (row.path == path) return &row;
  }
  return nullptr;
}

}  // namespace

bool PluginReader::read(const Member& member) {
  if (member.key == "plugins") {
    read_list(member);
    return true;
  }
  if (member.key == "auth") {
    read_auth(member, {}, config_.auth);
    return true;
  }
  const PluginSpec* spec = find_spec(specs_, member.key);
  if (spec == nullptr || spec->authenticates) return false;
  on_top_.push_back(read_entry(*spec, member));
  return true;
}

std::string PluginReader::known(bool authenticating) const {
  std::string out;
  for (const PluginSpec* spec : specs_) {
    if (spec->authenticates == authenticating) out += (out.empty() ? "" : ", ") + std::string(spec->name);
  }
  return out;
}

void PluginReader::read_list(const Member& member) {
  if (member.value.kind == NodeKind::null) return;
  if (member.value.kind != NodeKind::sequence) {
    values_.add("wrong-type", "'plugins' is a list, in the order in which they see a request", member.value)
        .hint = "write - rateLimit: { requests: 600, per: 1m }";
    return;
  }
  if (member.value.items.size() > kMaxPlugins) {
    values_.add("out-of-range", fmt::format("more than {} plugins", kMaxPlugins), member);
    return;
  }
  for (const Node& item : member.value.items)
    read_item(item);
}

// `- rateLimit: {…}`, with `servers:` and `name:` beside it; or `- path: ./x.so`.
void PluginReader::read_item(const Node& item) {
  if (item.kind != NodeKind::mapping || item.members.empty()) {
    values_.add("wrong-type", "a plugin is a map that begins with its name", item).hint =
        "write - rateLimit: { requests: 600, per: 1m }";
    return;
  }
  const Member* named = nullptr;
  const PluginSpec* spec = nullptr;
  for (const Member& member : item.members) {
    const PluginSpec* one = find_spec(specs_, member.key);
    if (one == nullptr) continue;
    if (named != nullptr) {
      values_
          .add("bad-value", fmt::format("two plugins in one entry: {} and {}", named->key, member.key),
               member)
          .hint = "begin a new entry with -";
      return;
    }
    named = &member;
    spec = one;
  }
  PluginEntry entry;
  if (spec != nullptr) {
    if (spec->authenticates) {
      values_.add("bad-value", fmt::format("'{}' authenticates callers: it stands below auth:", spec->name),
                  *named);
      return;
    }
    entry = read_entry(*spec, *named);
  } else if (item.find("path") != nullptr) {
    entry.type = "sharedObject";
    entry.directory = directory_;
    entry.line = item.line;
  }
  for (const Member& member : item.members) {
    if (&member == named || read_common(member, entry)) continue;
    if (entry.type == "sharedObject" && member.key == "path") {
      static const Option kPath = plugin_option("path", Kind::text, "", 0, 0, "");
      Value value;
      if (values_.read_scalar(kPath, member.value, value)) entry.path = value.text;
    } else if (entry.type == "sharedObject" && member.key == "options") {
      read_raw(member.value, entry);
    } else {
      values_.add("unknown-option", fmt::format("there is no plugin '{}'", clip(member.key)), member).hint =
          fmt::format("there are {}; or path: for a shared object", known(false));
    }
  }
  if (!entry.type.empty()) config_.plugins.push_back(std::move(entry));
}

bool PluginReader::read_common(const Member& member, PluginEntry& entry) {
  static const Option kServers = plugin_option("servers", Kind::list, "", 0, 0, "");
  static const Option kListeners = plugin_option("listeners", Kind::list, "", 0, 0, "");
  static const Option kName = plugin_option("name", Kind::text, "", 0, 0, "");
  Value value;
  if (member.key == "listeners") {
    // The auth of a listener stands in the listener itself.
    const PluginSpec* spec = find_spec(specs_, entry.type);
    if (spec != nullptr && spec->authenticates) return false;
    if (values_.read_list(kListeners, member.value, value)) entry.listeners = std::move(value.list);
    return true;
  }
  if (member.key == "servers") {
    if (values_.read_list(kServers, member.value, value)) entry.servers = std::move(value.list);
    return true;
  }
  if (member.key != "name") return false;
  if (!values_.read_scalar(kName, member.value, value)) return true;
  bool plain = !value.text.empty() && value.text.size() <= 64 &&
               std::all_of(value.text.begin(), value.text.end(), [](unsigned char c) {
                 return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
               });
  if (!plain) {
    values_.add("bad-value", "a plugin's name is made of up to 64 letters, digits, '-', '_' and '.'",
                member.value);
  }
  entry.name = value.text;
  return true;
}

PluginEntry PluginReader::read_entry(const PluginSpec& spec, const Member& member) {
  PluginEntry entry;
  entry.type = spec.name;
  entry.directory = directory_;
  entry.line = member.line;
  entry.values = plugin_defaults(spec);
  std::vector<std::string_view> given;
  if (member.value.kind == NodeKind::mapping) {
    read_options(spec, "", member.value, entry, given);
  } else if (member.value.kind != NodeKind::null) {
    values_.add("wrong-type", fmt::format("'{}' takes a map of options", spec.name), member.value).hint =
        "lineward help plugins";
  }
  for (std::string_view needed : spec.required) {
    if (std::find(given.begin(), given.end(), needed) != given.end()) continue;
    values_.add("missing-option", fmt::format("'{}' needs {}", spec.name, needed), member).hint =
        "lineward help plugins";
  }
  return entry;
}

void PluginReader::read_options(const PluginSpec& spec, const std::string& group, const Node& node,
                                PluginEntry& entry, std::vector<std::string_view>& given) {
  for (const Member& member : node.members) {
    std::string path = group.empty() ? member.key : group + "." + member.key;
    // Below auth: no surrounding entry could hold them.
    if (group.empty() && spec.authenticates && read_common(member, entry)) continue;
    const Option* option = row_named(spec.options, path);
    if (option != nullptr) {
      given.push_back(option->path);
      Value value;
      if (values_.read_option(*option, member.value, value)) entry.values.set(option->path, std::move(value));
      continue;
    }
    bool is_group = std::any_of(spec.options.begin(), spec.options.end(), [&](const Option& one) {
      return one.path.substr(0, path.size() + 1) == path + ".";
    });
    if (is_group && member.value.kind == NodeKind::mapping) {
      read_options(spec, path, member.value, entry, given);
      continue;
    }
    Diagnostic& diagnostic = values_.add(
        "unknown-option", fmt::format("'{}' is not an option of {}", clip(path), spec.name), member);
    std::vector<std::string_view> names;
    for (const Option& one : spec.options)
      names.push_back(one.path);
    std::string_view likely = nearest(path, names);
    diagnostic.hint = likely.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                     : fmt::format("did you mean '{}'?", likely);
  }
}

// A shared object checks its own options: it gets them as text.
void PluginReader::read_raw(const Node& node, PluginEntry& entry) {
  static const Option kOptions = plugin_option("options", Kind::map, "", 0, 0, "");
  Value value;
  if (!values_.read_map(kOptions, node, value)) return;
  if (value.map.size() > kMaxRawOptions) {
    values_.add("out-of-range", fmt::format("more than {} options", kMaxRawOptions), node);
    return;
  }
  entry.raw = std::move(value.map);
}

void PluginReader::read_auth(const Member& member, const std::string& listener, Auth& out) {
  if (member.value.kind == NodeKind::null) return;
  out.given = true;
  out.line = member.line;
  if (member.value.kind != NodeKind::mapping) {
    values_.add("wrong-type", fmt::format("'auth' is a map with {}", known(true)), member.value);
    return;
  }
  for (const Member& child : member.value.members) {
    if (child.key == "resourceMetadata") {
      read_metadata(child.value, out.resource_metadata);
    } else if (const Option* option = row_named(auth_options(), child.key)) {
      Value value;
      if (values_.read_option(*option, child.value, value)) out.anonymous = value.flag;
    } else if (const PluginSpec* spec = find_spec(specs_, child.key);
               spec != nullptr && spec->authenticates) {
      PluginEntry& entry = out.methods.emplace_back(read_entry(*spec, child));
      entry.listener = listener;
    } else {
      values_.add("unknown-option", fmt::format("'{}' is no way to authenticate", clip(child.key)), child)
          .hint = fmt::format("there are {}, anonymous and resourceMetadata", known(true));
    }
  }
  for (PluginEntry& entry : out.methods)
    entry.has_resource = !out.resource_metadata.resource.empty();
  // That of a listener may be client certificates alone (config/reader/listeners.h).
  if (out.methods.empty() && !out.anonymous && listener.empty()) {
    values_.add("missing-option", "'auth' names no way to come in", member).hint =
        fmt::format("add one of {}, or remove auth:", known(true));
  }
  if (out.anonymous) tell_of_anonymous(member, out);
}

// `anonymous: true` together with rules for scopes is weaker than it looks.
void PluginReader::tell_of_anonymous(const Member& member, const Auth& auth) {
  const auto given = [&](std::string_view option) {
    return std::any_of(auth.methods.begin(), auth.methods.end(), [&](const PluginEntry& entry) {
      const PluginSpec* spec = find_spec(specs_, entry.type);
      if (spec == nullptr || row_named(spec->options, option) == nullptr) return false;
      const Value& value = entry.values.at(option);
      return !value.map.empty() || !value.list.empty();
    });
  };
  const bool rules = given("toolScopes") || given("methodScopes");
  const bool required = given("requiredScopes");
  if (!rules && !required) return;
  Diagnostic& told = values_.add(
      "anonymous-scopes",
      rules ? "callers without credentials have no scopes: what toolScopes and methodScopes name is refused "
              "to them"
            : "callers without credentials have no scopes, and requiredScopes is asked of credentials alone",
      member);
  told.severity = Severity::info;
  told.hint = rules ? "no more than a key without scopes may do"
                    : "name what needs a scope in toolScopes and methodScopes";
}

void PluginReader::read_metadata(const Node& node, ResourceMetadata& out) {
  if (node.kind != NodeKind::mapping) {
    values_.add("wrong-type", "'resourceMetadata' is a map with resource", node);
    return;
  }
  for (const Member& member : node.members) {
    const Option* option = row_named(metadata_options(), member.key);
    if (option == nullptr) {
      values_
          .add("unknown-option", fmt::format("'{}' is not an option of resourceMetadata", clip(member.key)),
               member)
          .hint = "there are resource, authorizationServers, scopesSupported, name and documentation";
      continue;
    }
    Value value;
    if (!values_.read_option(*option, member.value, value)) continue;
    if (option->path == "resource") out.resource = value.text;
    if (option->path == "authorizationServers") out.authorization_servers = value.list;
    if (option->path == "scopesSupported") out.scopes_supported = value.list;
    if (option->path == "name") out.name = value.text;
    if (option->path == "documentation") out.documentation = value.text;
  }
  // An unreadable one has been reported already.
  const Member* resource = node.find("resource");
  if (resource == nullptr || (resource->value.kind == NodeKind::scalar && resource->value.text.empty()))
    values_.add("missing-option", "'resourceMetadata' needs resource, the URL that clients use", node);
}

void PluginReader::filter_tools(const std::string& server, bool allow, std::vector<std::string> globs,
                                int line) {
  const PluginSpec* spec = find_spec(specs_, "toolFilter");
  if (spec == nullptr) return;
  auto found = std::find_if(filters_.begin(), filters_.end(),
                            [&](const PluginEntry& entry) { return entry.servers.front() == server; });
  if (found == filters_.end()) {
    PluginEntry entry;
    entry.type = spec->name;
    entry.name = "tools." + server;
    entry.servers = {server};
    entry.values = plugin_defaults(*spec);
    entry.directory = directory_;
    entry.line = line;
    found = filters_.insert(filters_.end(), std::move(entry));
  }
  std::string_view option = allow ? "allow" : "deny";
  Value value = found->values.at(option);
  value.list.insert(value.list.end(), globs.begin(), globs.end());
  found->values.set(option, std::move(value));
}

void PluginReader::forget_tools(const std::string& server) {
  std::erase_if(filters_, [&](const PluginEntry& entry) { return entry.servers.front() == server; });
}

// Client credentials for this gateway must not be forwarded (MCP authorization, "Access Token Privilege
// Restriction"): a server that gets them could act as the client here.
void PluginReader::refuse_passthrough(const Server& server, const Auth& auth) {
  for (const std::string& header : server.forward_headers) {
    std::string lower(header);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (lower != "authorization" && lower != "x-api-key") continue;
    Node here;
    here.line = auth.line;
    here.column = 1;
    values_
        .add("bad-value",
             fmt::format("'{}' of server '{}' would pass on what clients show to this gateway: with auth: it "
                         "is never forwarded",
                         clip(header), clip(server.name)),
             here)
        .hint =
        "take it out of forwardHeaders; give the server credentials of its own with headers: or "
        "clientCredentials:";
  }
}

void PluginReader::check_names(const PluginEntry& entry, const std::vector<std::string>& listeners) {
  const auto add = [&](std::string message, std::string hint) {
    Node here;
    here.line = entry.line;
    here.column = 1;
    values_.add("bad-value", std::move(message), here).hint = std::move(hint);
  };
  for (const std::string& server : entry.servers) {
    bool known_server = std::any_of(config_.servers.begin(), config_.servers.end(),
                                    [&](const Server& one) { return one.name == server; });
    if (!known_server)
      add(fmt::format("plugin {} is for '{}', and there is no such server", entry.name, clip(server)),
          "servers: takes names of mcpServers");
  }
  for (const std::string& listener : entry.listeners) {
    const bool known_listener = listener == kFirstListener ||
                                std::find(listeners.begin(), listeners.end(), listener) != listeners.end();
    if (!known_listener)
      add(fmt::format("plugin {} is for the listener '{}', and there is no such listener", entry.name,
                      clip(listener)),
          "listeners: takes listen and names of listeners");
  }
}

void PluginReader::finish(const std::vector<Auth*>& own, const std::vector<std::string>& listeners) {
  config_.plugins.insert(config_.plugins.begin(), std::make_move_iterator(on_top_.begin()),
                         std::make_move_iterator(on_top_.end()));
  on_top_.clear();
  config_.plugins.insert(config_.plugins.end(), std::make_move_iterator(filters_.begin()),
                         std::make_move_iterator(filters_.end()));
  filters_.clear();
  std::map<std::string, int> uses;
  auto name = [&](PluginEntry& entry) {
    bool given = !entry.name.empty();
    std::string base = given ? entry.name : entry.type;
    if (!given && !entry.listener.empty()) base = entry.listener + "." + base;
    int use = ++uses[base];
    if (use > 1 && given) {
      Node here;
      here.line = entry.line;
      here.column = 1;
      values_.add("duplicate-key", fmt::format("two plugins are called '{}'", base), here);
    }
    entry.name = use == 1 ? base : fmt::format("{}-{}", base, use);
    check_names(entry, listeners);
  };
  std::vector<Auth*> all{&config_.auth};
  all.insert(all.end(), own.begin(), own.end());
  for (Auth* auth : all) {
    if (!auth->given) continue;
    for (const Server& server : config_.servers)
      refuse_passthrough(server, *auth);
    for (PluginEntry& entry : auth->methods)
      name(entry);
  }
  for (PluginEntry& entry : config_.plugins)
    name(entry);
}

}  // namespace lineward::config
