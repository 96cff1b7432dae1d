#include "config/reader/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "config/aggregate.h"
#include "config/claim_rules.h"
#include "config/identity_words.h"
#include "config/options/options.h"
#include "config/options/read_value.h"
#include "config/reader/addresses.h"
#include "config/reader/admin.h"
#include "config/reader/audit.h"
#include "config/reader/client_addresses.h"
#include "config/reader/document.h"
#include "config/reader/listeners.h"
#include "config/reader/plugin_files.h"
#include "config/reader/replicas.h"
#include "config/reader/report.h"
#include "config/reader/secrets.h"
#include "config/reader/server_reader.h"
#include "config/reader/tls.h"
#include "config/reader/tree_reader.h"

namespace lineward::config {
namespace {

void apply(const Setting& setting, LoadResult& result) {
  const Option* option = find_option(setting.path);
  Diagnostic diagnostic;
  diagnostic.origin = setting.origin;
  if (option == nullptr) return;
  Result<Value, Misfit> value = read_value(*option, setting.text);
  Misfit misfit;
  if (!value) {
    misfit = value.error();
  } else if (Result<Done, Misfit> checked = check_value(*option, *value, setting.text); !checked) {
    misfit = checked.error();
  } else {
    Server unused;
    if (!option->per_server()) option->set(result.config, unused, *value);
    for (Server& server : result.config.servers) {
      if (option->per_server()) option->set(result.config, server, *value);
    }
    if (option->inherited()) option->set(result.config, result.config.aggregate_server, *value);
    return;
  }
  diagnostic.code = misfit.code;
  diagnostic.message = fmt::format("{}: {}", setting.origin, misfit.message);
  diagnostic.hint = misfit.hint;
  diagnostic.note = misfit.note;
  result.diagnostics.push_back(std::move(diagnostic));
}

void apply_environment(const EnvLookup& env, LoadResult& result) {
  if (!env) return;
  auto one = [&](std::string_view path, const std::string& name) {
    std::optional<std::string> text = name.empty() ? std::nullopt : env(name);
    if (text && !text->empty()) apply({std::string(path), *text, name}, result);
  };
  for (const Option& option : options())
    one(option.path, option.env_name());
}

void check_names(const std::vector<Server>& servers, LoadResult& result) {
  for (const Server& server : servers) {
    bool taken = std::any_of(result.config.servers.begin(), result.config.servers.end(),
                             [&](const Server& other) { return other.name == server.name; });
    if (!taken) continue;
    Diagnostic diagnostic;
    diagnostic.code = "duplicate-key";
    diagnostic.message = fmt::format("the file has a server '{}' already", server.name);
    diagnostic.hint = "choose another name with --name";
    diagnostic.origin = "command line";
    result.diagnostics.push_back(std::move(diagnostic));
  }
}

// The command line defines the server (operate/cli/server_flags.h); `defaults:` supplies the other options,
// as for servers of the file.
void add_servers(const std::vector<Server>& servers, const Server& defaults, LoadResult& result) {
  check_names(servers, result);
  for (const Server& given : servers) {
    Server& server = result.config.servers.emplace_back(defaults);
    server.name = given.name;
    server.command = given.command;
    server.args = given.args;
    server.env = given.env;
    server.cwd = given.cwd;
    server.inherit_env = given.inherit_env;
    server.url = given.url;
    server.headers = given.headers;
  }
}

void withhold_headers_of(const PluginEntry& proxy, std::vector<Server>& servers) {
  std::vector<std::string> names;
  for (const char* option : {"subjectHeader", "scopesHeader", "secretHeader"}) {
    if (!proxy.values.text(option).empty()) names.push_back(proxy.values.text(option));
  }
  for (const auto& [claim, header] : proxy.values.map("claims"))
    names.push_back(header);
  for (Server& server : servers) {
    if (server.url.empty()) continue;  // gets no headers
    server.identity.withheld.insert(server.identity.withheld.end(), names.begin(), names.end());
  }
}

// Authenticating plugins keep the claims that the configuration uses, and no others. Headers in which a proxy
// in front names callers are for Lineward alone.
void note_claims(Config& config) {
  std::vector<std::string> claims = claims_for_servers(config);
  add_claims_of_rules(config.plugins, claims);
  std::vector<Auth*> all{&config.auth};
  for (FurtherListen& one : config.listeners)
    all.push_back(&one.auth);
  for (const Auth* auth : all)
    add_claims_of_rules(auth->methods, claims);
  for (Auth* auth : all) {
    for (PluginEntry& entry : auth->methods) {
      entry.claims = claims;
      if (entry.type == kTrustedProxy) withhold_headers_of(entry, config.servers);
    }
  }
}

// The member that defines this server in the file; null if none.
const Member* find_server_member(const Node& root, const std::string& name) {
  for (const char* group : {"mcpServers", "servers"}) {
    const Member* servers = root.find(group);
    const Member* found = servers != nullptr ? servers->value.find(name) : nullptr;
    if (found != nullptr) return found;
  }
  return nullptr;
}

// Sets the place of a server's definition, in whichever file; with `variable` that of this entry of its
// `env`.
void point_at(const Node& root, const std::string& server, const LoadResult& result, Diagnostic& diagnostic,
              std::string_view variable = {}) {
  const Member* member = find_server_member(root, server);
  for (const IncludedFile& file : result.included) {
    if (member != nullptr) break;
    member = find_server_member(file.document.root, server);
    if (member != nullptr) diagnostic.file = file.path;
  }
  if (member == nullptr) return;
  if (!variable.empty()) member = &place_of_entry(*member, "env", variable);
  diagnostic.line = member->line;
  diagnostic.column = member->column;
  diagnostic.length = member->length;
}

// A variable that is requested and withheld gets a warning.
void tell_withheld(const Node& root, const Server& server, LoadResult& result) {
  for (const std::string& name : server.withheld_env) {
    const std::vector<std::string>& asked = server.inherit_env.names;
    if (std::find(asked.begin(), asked.end(), name) == asked.end()) continue;
    Diagnostic diagnostic;
    diagnostic.severity = Severity::warning;
    diagnostic.code = "withheld-variable";
    diagnostic.message = fmt::format("{} is used elsewhere in the configuration, so '{}' does not inherit it",
                                     clip(name), server.name);
    diagnostic.hint = fmt::format("write env: {{ {0}: \"${{env:{0}}}\" }}", clip(name));
    point_at(root, server.name, result, diagnostic);
    result.diagnostics.push_back(std::move(diagnostic));
  }
}

// A process with a variable about its caller belongs to one caller. Flags set `isolation` after the file was
// read.
void check_shared_processes(const Node& root, LoadResult& result) {
  for (const Server& server : result.config.servers) {
    if (server.identity.env.empty() || server.disabled || !server.url.empty()) continue;
    const bool shares = is_of_all_callers(server.isolation);
    if (!shares && server.pool.prewarm == 0) continue;
    const std::string& variable = server.identity.env.front().first;
    Diagnostic diagnostic;
    diagnostic.code = "shared-process";
    diagnostic.message =
        fmt::format("'{}' of env names the caller, and {}", clip(variable),
                    shares ? "callers share a process here" : "a process started ahead has none");
    diagnostic.hint = shares ? "add isolation: principal (or session, or call)" : "remove pool.prewarm";
    diagnostic.origin = fmt::format("mcpServers.{}.env", clip(server.name));
    point_at(root, server.name, result, diagnostic, variable);
    result.diagnostics.push_back(std::move(diagnostic));
  }
}

// Reports servers that cannot be aggregated.
void check_together(const Node& root, LoadResult& result) {
  const Config& config = result.config;
  auto add = [&](std::string code, std::string message, std::string hint, const std::string& server) {
    Diagnostic diagnostic;
    diagnostic.code = std::move(code);
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    diagnostic.origin = "aggregate";
    point_at(root, server, result, diagnostic);
    result.diagnostics.push_back(std::move(diagnostic));
  };
  if (auto clash = prefix_clash(config)) {
    std::string shorter = rendered_prefix(config.aggregate, clash->shorter);
    std::string longer = rendered_prefix(config.aggregate, clash->longer);
    add("prefix-clash",
        fmt::format("names of '{}' begin with {}, which begins {} of '{}' too: the server of a tool would be "
                    "ambiguous",
                    clash->shorter, shorter, longer, clash->longer),
        "rename one, or change aggregate.prefix", clash->longer);
  }
  for (const Server& server : config.servers) {
    const std::string path = config.listen.below(server.name);
    const bool taken = config.listen.legacy_sse && (path == "/sse" || path == "/messages");
    if (taken && !server.disabled)
      add("bad-value",
          fmt::format("{} is a path of listen.legacySse and of the server '{}'", path, server.name),
          "choose another name, or another listen.path", server.name);
  }
  if (!is_aggregated(config)) return;
  for (const Server& server : config.servers) {
    if (server.disabled || config.listen.below(server.name) != aggregate_path(config)) continue;
    add("bad-value", fmt::format("aggregate.path is the path of the server '{}'", server.name),
        "choose another path", server.name);
  }
}

// Servers of included files come behind those of the configuration, in the order of the files.
void read_servers_of_files(const LoadOptions& options, const Node& root, TreeReader& reader,
                           LoadResult& result) {
  Config& config = result.config;
  if (config.include.empty() || !options.read_files) return;
  Included included = read_included(config.include, root.find("include"), options.directory, result.name,
                                    options.included_texts);
  config.include_directories = included.directories;
  std::vector<Diagnostic>& all = result.diagnostics;
  all.insert(all.end(), included.diagnostics.begin(), included.diagnostics.end());
  for (const IncludedFile& file : included.files) {
    if (!file.document.parsed) continue;
    const size_t before = all.size();
    reader.read_included(file, result.name);
    for (size_t i = before; i < all.size(); ++i)
      all[i].file = file.path;
  }
  result.included = std::move(included.files);
}

// `lineward server disable`: the own file names servers of other files too. A name that is gone has no
// effect.
void apply_own(LoadResult& result) {
  for (const IncludedFile& file : result.included) {
    const Member* disabled = file.is_own ? file.document.root.find("disabled") : nullptr;
    if (disabled == nullptr) continue;
    for (const Node& name : disabled->value.items) {
      for (Server& server : result.config.servers)
        server.disabled = server.disabled || server.name == name.text;
    }
  }
}

bool is_toml(std::string_view name) {
  constexpr std::string_view kEnd = ".toml";
  return name.size() > kEnd.size() && name.substr(name.size() - kEnd.size()) == kEnd;
}

}  // namespace

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool LoadResult::has(Severity severity) const {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [severity](const Diagnostic& diagnostic) { return diagnostic.severity == severity; });
}

bool LoadResult::ok() const {
  return !has(Severity::error);
}

namespace {

ReportSource source_of(const LoadResult& result, const Diagnostic& diagnostic) {
  for (const IncludedFile& file : result.included) {
    if (file.path == diagnostic.file) return {file.path, file.text, &file.secrets};
  }
  return {result.name, result.text, &result.secrets};
}

}  // namespace

std::string LoadResult::report(bool colour) const {
  return render_report(
      diagnostics, name, [this](const Diagnostic& one) { return source_of(*this, one); }, colour);
}

std::string LoadResult::report_of(const Diagnostic& diagnostic, bool colour) const {
  return render_diagnostic(diagnostic, source_of(*this, diagnostic), colour);
}

std::string LoadResult::place_of(const Diagnostic& diagnostic) const {
  if (diagnostic.line == 0) return diagnostic.origin;
  return fmt::format("{}:{}:{}", source_of(*this, diagnostic).name, diagnostic.line, diagnostic.column);
}

LoadResult load_text(std::string text, std::string name, const LoadOptions& options) {
  LoadResult result;
  result.name = std::move(name);
  result.text = std::move(text);
  result.config.log.level = options.log_level;
  const Syntax syntax = syntax_of(result.name, result.text);
  Document document = parse_document(result.text, syntax);
  result.diagnostics = std::move(document.diagnostics);
  Server defaults;
  VariableUses uses = options.uses;
  std::vector<WrittenListener> written;
  if (document.parsed) {
    result.secrets = find_secrets(document.root);
    TreeReader reader(result.config, result.diagnostics, {options.env, options.directory, options.read_files},
                      options.plugins);
    const bool client_file = options.as_client_file || is_client_file(document.root, syntax);
    reader.read(document.root, client_file, options.running,
                [&] { read_servers_of_files(options, document.root, reader, result); });
    result.left_out = reader.left_out();
    written = reader.listeners();
    defaults = reader.defaults();
    result.config.aggregate_server = defaults;
    result.config.aggregate_server.protocol_era = Era::modern;  // the only era of an aggregate
    result.config.given_secrets.assign(reader.secrets().begin(), reader.secrets().end());
    for (const auto& [user, names] : reader.uses())
      uses[user].insert(names.begin(), names.end());
  } else {
    result.secrets = guess_secrets(result.text);
    if (is_toml(result.name) && !result.diagnostics.empty())
      result.diagnostics.front().hint =
          fmt::format("TOML is no configuration here: lineward adapt {} > lineward.yaml", result.name);
  }
  add_servers(options.servers, defaults, result);
  apply_own(result);
  withhold(result.config.servers, uses);
  for (const Server& server : result.config.servers)
    tell_withheld(document.root, server, result);
  apply_environment(options.env, result);
  for (const Setting& setting : options.settings)
    apply(setting, result);
  take_off_slash(result.config.listen.path);
  inherit_listeners(written, result.config);
  take_off_slash(result.config.aggregate.path);
  result.config.aggregate_server.name = aggregate_path(result.config);
  note_claims(result.config);
  check_shared_processes(document.root, result);
  check_together(document.root, result);
  check_replicas(document.root, options, result);
  check_addresses(document.root, result);
  const Member* listen = document.root.find("listen");
  check_client_addresses(listen, "listen", result.config.listen, result);
  check_tls(listen, "listen", result.config.listen, options, result);
  check_listeners(document.root, options, result);
  check_admin(document.root, options, result);
  check_audit(document.root, options, result);
  check_plugin_files(document.root, options, result);
  std::stable_sort(result.diagnostics.begin(), result.diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
                   });
  return result;
}

LoadResult load_file(const std::string& path, LoadOptions options) {
  bool not_permitted = false;
  Result<std::string> text = read_small_file(path, kMaxDocumentBytes + 1, &not_permitted);
  if (text) {
    options.directory = path == "-" ? "." : directory_of(path);
    return load_text(std::move(*text), path, options);
  }
  LoadResult result;
  result.name = path;
  result.unreadable = true;
  result.not_permitted = not_permitted;
  Diagnostic diagnostic;
  diagnostic.code = "cannot-read";
  diagnostic.message = fmt::format("cannot read {}", text.error().text);
  result.diagnostics.push_back(std::move(diagnostic));
  return result;
}

}  // namespace lineward::config
