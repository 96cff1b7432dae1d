#include "config/reader/server_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "config/duration.h"
#include "config/forward_rules.h"
#include "config/identity_words.h"
#include "config/options/names.h"
#include "config/options/read_value.h"
#include "config/reader/plugin_reader.h"
#include "config/reader/shown_tools.h"
#include "foundation/base/is_among.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxEnvFile = 256 * 1024;
constexpr size_t kMaxServers = 1000;
constexpr size_t kMaxOrigins = 64;
constexpr uint64_t kMaxWeight = 1000;

// Settings between a client and its user; a gateway ignores them.
bool is_client_matter(std::string_view key) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "autoApprove", "alwaysAllow", "trust", "dev", "oauth", "auth", "description", "gallery", "icon"};
  return is_among(kWords, key) || key.substr(0, 7) == "sandbox";
}

}  // namespace

const Member& place_of_entry(const Member& server, std::string_view map, std::string_view name) {
  const Member* place = &server;
  for (const Member& member : server.value.members) {
    if (member.key != map) continue;
    const Member* entry = member.value.find(name);
    place = entry != nullptr ? entry : &member;
  }
  return *place;
}

void ServerReader::read(const Member& member) {
  if (member.value.kind == NodeKind::null) return;
  if (member.value.kind != NodeKind::mapping) {
    values_.add("wrong-type", fmt::format("'{}' is a map from a name to a server", member.key), member.value)
        .hint = "write name: { command: … }";
    return;
  }
  for (const Member& child : member.value.members) {
    if (config_.servers.size() == kMaxServers) {
      values_.add("too-many", fmt::format("more than {} servers", kMaxServers), child);
      return;
    }
    const bool runs = running_.find(name_of(child)) != running_.end();
    lenient_ && !runs ? read_lenient(child) : read_server(child);
  }
}

void ServerReader::be_lenient(const Node& root, std::set<std::string> running) {
  lenient_ = true;
  running_ = std::move(running);
  std::vector<std::string> written;
  for (const char* word : {"mcpServers", "servers"}) {
    const Member* servers = root.find(word);
    if (servers == nullptr) continue;
    for (const Member& member : servers->value.members)
      written.push_back(member.key);
  }
  const std::vector<std::string> names = server_names(written);
  for (size_t i = 0; i < names.size(); ++i)
    names_[written[i]] = names[i];
}

// An error is reported, and skips this server only.
void ServerReader::read_lenient(const Member& member) {
  std::vector<Diagnostic>& all = values_.diagnostics();
  const size_t said = all.size();
  const size_t servers = config_.servers.size();
  read_server(member);
  std::string why;
  for (size_t i = said; i < all.size(); ++i) {
    if (all[i].severity != Severity::error) continue;
    if (why.empty()) why = all[i].message;
    all[i].severity = Severity::warning;
    all[i].message += "; this server is left out";
  }
  if (why.empty()) return;
  const std::string name = name_of(member);
  const bool read = config_.servers.size() > servers;
  if (read) config_.servers.pop_back();
  if (plugins_ != nullptr && read) plugins_->forget_tools(name);
  left_out_.push_back({member.key, std::move(why)});
}

void ServerReader::finish(const Node& root) {
  if (!left_out_.empty() && config_.servers.empty())
    values_.add("no-server", "no server of this file can be run", root);
}

std::string ServerReader::name_of(const Member& member) {
  auto known = names_.find(member.key);
  return known == names_.end() ? member.key : known->second;
}

void ServerReader::read_server(const Member& member) {
  const std::string name = name_of(member);
  if (name != member.key) {
    values_.add("renamed", fmt::format("the server '{}' is called '{}' here", clip(member.key), name), member)
        .severity = Severity::info;
  } else if (!is_server_name(name)) {
    values_.add("bad-name", fmt::format("'{}' cannot be the name of a server", clip(member.key)), member)
        .hint = fmt::format("use 1 to 64 of A-Z a-z 0-9 _ -, as {}", server_names({member.key}).front());
  }
  const auto taken = std::find_if(config_.servers.begin(), config_.servers.end(),
                                  [&name](const Server& other) { return other.name == name; });
  if (taken != config_.servers.end() && taken->file != file_) {
    values_.add(
        "duplicate-key",
        fmt::format("{} has a server '{}' already", taken->file.empty() ? main_ : taken->file, clip(name)),
        member);
  } else if (taken != config_.servers.end()) {
    // The document already reports duplicates within one map.
    bool reported = std::any_of(values_.diagnostics().begin(), values_.diagnostics().end(),
                                [&member](const Diagnostic& diagnostic) {
                                  return diagnostic.line == member.line && diagnostic.column == member.column;
                                });
    if (!reported)
      values_.add("duplicate-key", fmt::format("a server '{}' exists already", clip(name)), member);
  }
  Server server = defaults_;
  server.name = name;
  server.file = file_;
  if (member.value.kind != NodeKind::mapping && member.value.kind != NodeKind::null) {
    values_.add("wrong-type", "a server is a map with command, args, env and so on", member.value);
    return;
  }
  HttpSigns http;
  values_.read_for(server.name);
  const Member* env = member.value.find("env");
  values_.read_beside(env == nullptr ? nullptr : &env->value);
  for (const Member& child : member.value.members)
    read_server_member(child, server, http);
  if (http.urls != nullptr && http.url != nullptr) {
    values_.add("two-servers", fmt::format("server '{}' has a url and urls", clip(name)), *http.urls).hint =
        "put the url into urls";
  } else if (!server.urls.empty()) {
    server.url = server.urls.front().url;
    http.url = http.urls;
  }
  finish_server(member, server, http);
  values_.read_beside(nullptr);
  values_.read_for(std::string());
  config_.servers.push_back(std::move(server));
}

void ServerReader::read_server_member(const Member& member, Server& server, HttpSigns& http) {
  if (!read_client_word(member, server, http) && !read_overrides_word(member, server))
    options_.read("mcpServers.*", member, server);
}

bool ServerReader::read_client_word(const Member& member, Server& server, HttpSigns& http) {
  static constexpr std::array<std::string_view, 3> kUrls = {"url", "httpUrl", "serverUrl"};
  static constexpr std::array<std::string_view, 3> kTypes = {"type", "transportType", "transport"};
  if (is_among(kUrls, member.key)) {
    options_.set(*find_option("mcpServers.*.url"), member.value, server);
    if (member.value.kind != NodeKind::null && !member.value.text.empty()) http.url = &member;
  } else if (member.key == "urls") {
    read_urls(member, server, http);
  } else if (member.key == "headers") {
    http.headers = &member;
    options_.set(*find_option("mcpServers.*.headers"), member.value, server);
  } else if (is_among(kTypes, member.key)) {
    read_type(member, server, http);
  } else if (member.key == "enabled") {
    read_enabled(member, server);
  } else if (member.key == "timeout") {
    const Option* option = find_option("mcpServers.*.timeouts.maxDuration");
    bool bare = member.value.kind == NodeKind::scalar && lacks_unit(member.value.text);
    Value unused;
    if (bare) {
      values_.read_scalar(*option, member.value, unused);
      values_.diagnostics().back().note += "; here it is timeouts.maxDuration";
    } else {
      values_.add("unknown-option", "'timeout' is not an option here", member).hint =
          "did you mean 'timeouts.maxDuration'?";
    }
  } else if (is_client_matter(member.key)) {
    values_
        .add("ignored-option", fmt::format("'{}' concerns the client only and is ignored", member.key),
             member)
        .severity = Severity::info;
  } else {
    return false;
  }
  return true;
}

void ServerReader::read_urls(const Member& member, Server& server, HttpSigns& http) {
  if (member.value.kind == NodeKind::null) return;
  if (member.value.kind != NodeKind::sequence) {
    values_.add("wrong-type", "'urls' is a list of addresses of one server", member.value).hint =
        "write urls: [http://10.0.0.1:8000/mcp, { url: http://10.0.0.2:8000/mcp, weight: 2 }]";
    return;
  }
  http.urls = &member;
  for (const Node& item : member.value.items) {
    if (server.urls.size() == kMaxOrigins) {
      values_.add("too-many", fmt::format("more than {} urls of one server", kMaxOrigins), item);
      return;
    }
    OriginUrl origin;
    read_origin(item, origin);
    if (origin.url.empty()) continue;
    const bool is_twice = std::any_of(server.urls.begin(), server.urls.end(),
                                      [&](const OriginUrl& other) { return other.url == origin.url; });
    if (is_twice) {
      values_.add("duplicate-key", "'urls' has an address twice", item).hint = "give it a weight: instead";
      continue;
    }
    server.urls.push_back(std::move(origin));
  }
}

// `origin.url` stays empty after a mistake.
void ServerReader::read_origin(const Node& item, OriginUrl& origin) {
  static const Option kWeight = plugin_option("weight", Kind::count, "1", 1, kMaxWeight, "");
  static const Option kDrain = plugin_option("drain", Kind::flag, "false", 0, 0, "");
  const Option& url = *find_option("mcpServers.*.url");
  Value value;
  if (item.kind != NodeKind::mapping) {
    if (values_.read_option(url, item, value)) origin.url = value.text;
    return;
  }
  if (item.find("url") == nullptr) {
    values_.add("missing-option", "one of 'urls' has no url", item).hint = "add url: http://…";
    return;
  }
  for (const Member& field : item.members) {
    if (field.key == "url") {
      if (values_.read_option(url, field.value, value)) origin.url = value.text;
    } else if (field.key == "weight") {
      if (values_.read_option(kWeight, field.value, value))
        origin.weight = static_cast<uint32_t>(value.number);
    } else if (field.key == "drain") {
      if (values_.read_option(kDrain, field.value, value)) origin.drain = value.flag;
    } else {
      values_.add("unknown-option", fmt::format("'{}' is not an option here", clip(field.key)), field).hint =
          "there are url, weight and drain";
    }
  }
}

void ServerReader::read_type(const Member& member, Server& server, HttpSigns& http) {
  if (member.value.kind != NodeKind::scalar) {
    values_.add("wrong-type", fmt::format("'{}' takes one word: stdio, http or sse", member.key),
                member.value);
  } else if (is_among(kHttpTypeWords, member.value.text)) {
    http.type = &member;
    server.type = ServerType::http;
  } else if (member.value.text == "sse") {
    http.type = &member;
    server.type = ServerType::sse;
  } else if (member.value.text == "stdio") {
    server.type = ServerType::stdio;
  } else if (member.value.text == "auto") {
    server.type = ServerType::automatic;
  } else {
    values_
        .add("unknown-choice", fmt::format("'{}' is not a type of server", clip(member.value.text)),
             member.value)
        .hint = "write stdio, http or sse, or remove it";
  }
}

void ServerReader::read_enabled(const Member& member, Server& server) {
  Value value;
  if (values_.read_scalar(*find_option("mcpServers.*.disabled"), member.value, value))
    server.disabled = !value.flag;
}

void ServerReader::finish_server(const Member& member, Server& server, const HttpSigns& http) {
  const Node& node = member.value;
  const Member* command = node.find("command");
  bool wanted = http.headers != nullptr && !http.headers->value.members.empty();
  if (wanted && http.url == nullptr) {
    values_.add("ignored-option", "'headers' concerns HTTP servers only and is ignored", *http.headers)
        .severity = Severity::info;
  }
  if (server.disabled) {
    // Never started: not checked.
  } else if (server.type == ServerType::sse && server.protocol_era == Era::modern) {
    values_
        .add("two-eras",
             fmt::format("server '{}' speaks HTTP+SSE, which the modern era does not have", clip(member.key)),
             *http.type)
        .hint = "remove protocolEra: modern, or write type: http";
  } else if (http.url != nullptr && command != nullptr) {
    values_
        .add("two-servers", fmt::format("server '{}' has a command and a url", clip(member.key)), *http.url)
        .hint = "remove one of them";
  } else if (http.type != nullptr && http.url == nullptr) {
    values_.add("missing-option", fmt::format("server '{}' has no url", clip(member.key)), *http.type).hint =
        "add url: http://…";
  } else if (server.type == ServerType::stdio && command == nullptr) {
    values_.add("missing-option", fmt::format("server '{}' has no command", clip(member.key)), member).hint =
        http.url != nullptr ? "write type: http, or remove it" : "add command: and args:";
  } else if (http.url == nullptr && command == nullptr) {
    values_
        .add("missing-option", fmt::format("server '{}' has no command and no url", clip(member.key)), member)
        .hint = "add command: and args:, or url:";
  }
  read_identity(member, server);
  check_command(node, server);
  check_credentials(node, server);
  check_timeouts(node, server);
  if (!server.env_file.empty()) merge_env_file(node, server);
  for (std::string* file :
       {&server.ca_file, &server.client_cert, &server.client_key, &server.remember.directory}) {
    if (!file->empty()) *file = resolve_path(*file, values_.sources().directory);
  }
}

// Values with words about the caller are no longer among the fixed ones, so that nothing sends them as they
// are.
void ServerReader::read_identity(const Member& server_member, Server& server) {
  const auto take = [](Identity::Map& from, Identity::Map& to) {
    const auto is_fixed = [](const auto& one) { return !has_words(one.second); };
    const auto words = std::stable_partition(from.begin(), from.end(), is_fixed);
    to.assign(std::make_move_iterator(words), std::make_move_iterator(from.end()));
    from.erase(words, from.end());
  };
  take(server.headers, server.identity.headers);
  take(server.env, server.identity.env);
  const auto at = [&](const char* map, const std::string& name) -> const Member& {
    return place_of_entry(server_member, map, name);
  };
  for (size_t i = 0; i < server.identity.headers.size(); ++i) {
    const std::string& name = server.identity.headers[i].first;
    const std::string folded = folded_header_name(name);
    if (is_own_header(folded) || folded == "traceparent" || folded == "tracestate" ||
        folded == folded_header_name(kStateHeader)) {
      values_
          .add("bad-value", fmt::format("the header {} cannot have the identity of a caller", clip(name)),
               at("headers", name))
          .hint = "choose a name of its own, such as X-User";
    }
    const auto same = [&](const auto& other) { return folded_header_name(other.first) == folded; };
    const bool is_twice = std::any_of(server.headers.begin(), server.headers.end(), same) ||
                          std::any_of(server.identity.headers.begin(),
                                      server.identity.headers.begin() + static_cast<ptrdiff_t>(i), same);
    if (is_twice) {
      values_
          .add("duplicate-key",
               fmt::format("headers has {} twice: servers take both names for one", clip(name)),
               at("headers", name))
          .hint = "remove one of them";
    }
  }
  if (server.identity.env.empty() || server.disabled || server.url.empty()) return;
  values_
      .add("ignored-option", "'env' concerns servers with a command only and is ignored",
           at("env", server.identity.env.front().first))
      .severity = Severity::info;
}

void ServerReader::check_command(const Node& server_node, const Server& server) {
  bool several_words = server.command.find(' ') != std::string::npos && server.args.empty();
  const Member* command = server_node.find("command");
  if (command == nullptr || !several_words) return;
  Diagnostic& diagnostic =
      values_.add("command-words", "the command is one word here: no shell splits it", command->value);
  diagnostic.severity = Severity::warning;
  diagnostic.hint = "put the rest into args: [...]";
}

void ServerReader::check_credentials(const Node& server_node, const Server& server) {
  const Member* credentials = server_node.find("clientCredentials");
  if (credentials == nullptr || server.disabled) return;
  const ClientCredentials& given = server.credentials;
  if (server.url.empty()) {
    values_
        .add("ignored-option", "'clientCredentials' concerns HTTP servers only and is ignored", *credentials)
        .severity = Severity::info;
  } else if (given.client_id.empty() || given.client_secret.empty() == given.private_key.empty()) {
    values_
        .add("missing-option", "clientCredentials takes clientId and one of clientSecret and privateKey",
             *credentials)
        .hint = "write clientSecret: ${file:/run/secrets/name}";
  } else if (given.issuer.empty() && given.token_url.empty()) {
    values_
        .add("missing-option",
             "clientCredentials takes an issuer: else the credentials would go to whatever authorization "
             "server "
             "this "
             "server names",
             *credentials)
        .hint = "add clientCredentials.issuer, or tokenUrl where it has no metadata";
  }
}

void ServerReader::check_timeouts(const Node& server_node, const Server& server) {
  if (server.timeouts.request <= server.timeouts.max_duration) return;
  const Member* timeouts = server_node.find("timeouts");
  if (timeouts == nullptr) return;
  const Member* request = timeouts->value.find("request");
  if (request == nullptr) request = timeouts->value.find("maxDuration");
  if (request == nullptr) return;
  Diagnostic& diagnostic = values_.add(
      "request-beyond-max",
      fmt::format("timeouts.request {} never runs out: the call ends at maxDuration {}",
                  format_duration(server.timeouts.request), format_duration(server.timeouts.max_duration)),
      request->value);
  diagnostic.severity = Severity::warning;
  diagnostic.hint = "raise maxDuration as well";
}

void ServerReader::merge_env_file(const Node& server_node, Server& server) {
  const Node& at = server_node.find("envFile")->value;
  if (!values_.sources().read_files) {
    values_.add("missing-file", "files are not read here", at);
    return;
  }
  Result<std::string> text =
      read_small_file(resolve_path(server.env_file, values_.sources().directory), kMaxEnvFile);
  if (!text) {
    values_.add("missing-file", fmt::format("envFile: {}", text.error().text), at);
    return;
  }
  Result<std::vector<EnvLine>> lines = parse_env_file(*text);
  if (!lines) {
    values_.add("bad-env-file", fmt::format("envFile: {}", lines.error().text), at);
    return;
  }
  // In the file the last entry wins; `env` overrides the file.
  std::vector<std::pair<std::string, std::string>> merged;
  for (EnvLine& line : *lines) {
    auto same = [&line](const auto& entry) { return entry.first == line.name; };
    if (std::any_of(server.env.begin(), server.env.end(), same)) continue;
    if (std::any_of(server.identity.env.begin(), server.identity.env.end(), same)) continue;
    auto earlier = std::find_if(merged.begin(), merged.end(), same);
    if (earlier != merged.end()) {
      earlier->second = std::move(line.value);
    } else {
      merged.emplace_back(std::move(line.name), std::move(line.value));
    }
  }
  merged.insert(merged.end(), server.env.begin(), server.env.end());
  server.env = std::move(merged);
}

// ---- limits by method and by tool ----

bool ServerReader::read_overrides_word(const Member& member, Server& server) {
  if (member.key == "methods") {
    read_overrides(member, server.method_timeouts);
    return true;
  }
  if (member.key != "tools") return read_tool_words(member, server);
  if (member.value.kind != NodeKind::mapping) {
    values_.add("wrong-type", "'tools' is a map with allow, deny, only, overrides and schema", member.value);
    return true;
  }
  for (const Member& child : member.value.members) {
    if (child.key == "overrides") {
      std::vector<ShownTool> shown;
      read_overrides(child, server.tool_timeouts, &shown);
      if (child.value.kind == NodeKind::mapping) finish_shown_tools(values_, child, std::move(shown), server);
    } else if (child.key == "allow" || child.key == "deny") {
      read_tool_names(child, child.key == "allow", server);
    } else if (child.key == "only" || child.key == "schema") {
      options_.read("mcpServers.*.tools", child, server);
    } else {
      values_.add("unknown-option", fmt::format("'{}' is not an option here", clip(child.key)), child).hint =
          "there are allow, deny, only, overrides and schema";
    }
  }
  return true;
}

void ServerReader::read_overrides(const Member& member, std::vector<TimeoutOverride>& out,
                                  std::vector<ShownTool>* shown) {
  if (member.value.kind != NodeKind::mapping) {
    values_
        .add("wrong-type", fmt::format("'{}' is a map from a glob to its limits", member.key), member.value)
        .hint = "write \"search_*\": { timeouts: { request: 2m } }";
    return;
  }
  for (const Member& glob : member.value.members) {
    ShownTool tool;
    const Member* timeouts = nullptr;
    bool fine = glob.value.kind == NodeKind::mapping && !glob.value.members.empty();
    for (const Member& word : glob.value.members) {
      if (word.key == "timeouts" && word.value.kind == NodeKind::mapping) {
        timeouts = &word;
      } else if (shown == nullptr || !read_shown_word(values_, glob, word, tool)) {
        fine = false;
      }
    }
    if (!fine) {
      Diagnostic& told = values_.add(
          "wrong-type",
          shown == nullptr ? fmt::format("'{}' takes timeouts: and nothing else", clip(glob.key))
                           : fmt::format("'{}' takes timeouts, name, title and description", clip(glob.key)),
          glob);
      told.hint = shown == nullptr ? "write { timeouts: { request: 2m } }"
                                   : "write { timeouts: { request: 2m } } or { name: other_name }";
      continue;
    }
    if (!tool.tool.empty()) shown->push_back(std::move(tool));
    if (timeouts != nullptr) out.push_back(read_override(glob.key, timeouts->value));
  }
}

TimeoutOverride ServerReader::read_override(const std::string& pattern, const Node& timeouts) {
  TimeoutOverride limits;
  limits.pattern = pattern;
  for (const Member& limit : timeouts.members) {
    Server scratch;
    if (limit.key != "request" && limit.key != "maxDuration" && limit.key != "progressResets") {
      values_
          .add("unknown-option", fmt::format("'{}' is not a limit of a method or tool", clip(limit.key)),
               limit)
          .hint = "request, maxDuration and progressResets are";
      continue;
    }
    options_.read("mcpServers.*.timeouts", limit, scratch);
    if (limit.key == "request") limits.request = scratch.timeouts.request;
    if (limit.key == "maxDuration") limits.max_duration = scratch.timeouts.max_duration;
    if (limit.key == "progressResets") limits.progress_resets = scratch.timeouts.progress_resets;
  }
  return limits;
}

// ---- which tools ----

bool ServerReader::read_tool_words(const Member& member, const Server& server) {
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
    values_.add("wrong-type", "'toolFilter' takes mode: allow or block, and list", *filter).hint =
        "write tools: { allow: [...] } or tools: { deny: [...] }";
    return true;
  }
  read_tool_names(*list, allow, server);
  return true;
}

void ServerReader::read_tool_names(const Member& member, bool allow, const Server& server) {
  static const Option kNames = plugin_option("tools", Kind::list, "", 0, 0, "");
  Value value;
  if (!values_.read_list(kNames, member.value, value)) return;
  // An empty allow list does not mean "all", and "none" is hardly intended.
  if (allow && value.list.empty()) {
    values_.add("bad-value", fmt::format("'{}' is empty: it would allow no tool at all", member.key), member)
        .hint = "remove it, or disable the server";
    return;
  }
  if (!plugins_) {
    values_.add("not-built", "there is no tool filter here", member);
    return;
  }
  plugins_->filter_tools(server.name, allow, std::move(value.list), member.line);
}

}  // namespace lineward::config
