#include "operate/cli/server_flags.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "config/aggregate.h"
#include "config/options/names.h"
#include "config/options/options.h"
#include "config/options/read_value.h"
#include "foundation/log/sanitize.h"
#include "operate/cli/shell_words.h"

namespace lineward::cli {
namespace {

using Names = std::set<std::string>;

constexpr std::string_view kHeaderForm = "write -H 'Name: value', with the quotes";

std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string environment_of(const Flags& flags, const config::EnvLookup& env, config::Server& server,
                           Names& used) {
  for (const std::string& entry : flags.env) {
    size_t equals = entry.find('=');
    std::string name = entry.substr(0, equals);
    if (name.empty()) return "-e: write NAME=value, or NAME to take it from the environment";
    std::optional<std::string> value;
    if (equals != std::string::npos) {
      value = entry.substr(equals + 1);
    } else if (env) {
      value = env(name);
      used.insert(name);
    }
    if (!value) return fmt::format("-e {}: the variable is not set here", config::clip(name));
    server.env.emplace_back(std::move(name), std::move(*value));
  }
  return {};
}

// Errors show no part of a header: without its colon the whole text may be a secret.
std::string headers_of(const Flags& flags, const config::EnvLookup& env, config::Server& server,
                       Names& used) {
  config::VariableSources sources;
  sources.env = env;
  config::Value all;
  for (const std::string& given : flags.headers) {
    size_t colon = given.find(':');
    std::string_view name = trim(std::string_view(given).substr(0, colon));
    if (colon == std::string::npos || name.empty()) return fmt::format("-H: {}", kHeaderForm);
    config::Expansion value = config::expand(trim(std::string_view(given).substr(colon + 1)), sources);
    if (!value.faults.empty()) return fmt::format("-H: {}", value.faults.front().message);
    if (value.text.empty()) return fmt::format("-H: a header has no value; {}", kHeaderForm);
    used.insert(value.variables.begin(), value.variables.end());
    all.map.emplace_back(std::string(name), std::move(value.text));
  }
  if (std::string_view fault = config::headers_fault(all); !fault.empty()) {
    return fmt::format("-H: {}", fault);
  }
  server.headers = std::move(all.map);
  return {};
}

std::string http_server(const Flags& flags, const config::EnvLookup& env, config::Server& server,
                        Names& used) {
  const config::Option& option = *config::find_option("mcpServers.*.url");
  config::Value url;
  url.text = flags.url;
  auto checked = config::check_value(option, url, url.text);
  if (!checked) return fmt::format("--{}", checked.error().message);
  server.url = flags.url;
  return headers_of(flags, env, server, used);
}

}  // namespace

std::string misplaced_server_flag(const Flags& flags) {
  bool command = !flags.cwd.empty() || !flags.env.empty();
  if (!flags.url.empty()) {
    if (flags.has_server) return "--url and a command behind -- are two servers: give one of them";
    if (command) return "--cwd and -e belong to a command behind --, not to --url";
    return {};
  }
  if (!flags.headers.empty()) return "-H belongs to --url";
  if (flags.has_server || (flags.name.empty() && !command)) return {};
  return "--name, --cwd and -e belong to a command behind --, --name to --url too";
}

std::string add_server_of_flags(const Flags& flags, config::LoadOptions& load) {
  config::Server& server = load.servers.emplace_back();
  Names used;
  std::string fault;
  if (!flags.url.empty()) {
    fault = http_server(flags, load.env, server, used);
    server.name = name_from_url(flags.url);
  } else {
    if (flags.server_words.empty() || flags.server_words[0].empty()) return "there is no command behind --";
    server.command = flags.server_words[0];
    server.args.assign(flags.server_words.begin() + 1, flags.server_words.end());
    server.cwd = flags.cwd;
    server.name = name_from_command(flags.server_words);
    server.inherit_env.mode =
        config::InheritedEnv::Mode::all;  // a typed command expects the shell's environment
    fault = environment_of(flags, load.env, server, used);
  }
  if (!flags.name.empty()) server.name = flags.name;
  if (fault.empty() && !config::is_server_name(server.name)) {
    fault = fmt::format("--name {}: use 1 to 64 of A-Z a-z 0-9 _ -", config::clip(server.name));
  }
  load.uses[server.name] = std::move(used);
  return fault;
}

bool names_url(std::string_view word) {
  for (std::string_view scheme : {"http://", "https://", "unix:/"}) {
    if (word.substr(0, scheme.size()) == scheme) return true;
  }
  return false;
}

std::string url_to_show(std::string_view url) {
  std::string shown(url.substr(0, url.find_first_of("?#")));
  const size_t scheme = shown.find("://"), host = shown.find('@');
  if (scheme != std::string::npos && host != std::string::npos && host > scheme)
    shown.erase(scheme + 3, host - scheme - 2);
  return sanitize(shown, 100);
}

std::string choose_server(const std::string& name, config::Config& config) {
  std::vector<config::Server>& servers = config.servers;
  std::erase_if(servers, [](const config::Server& server) { return server.disabled; });
  std::string names;
  for (const config::Server& server : servers)
    names += (names.empty() ? "" : ", ") + server.name;
  if (servers.empty()) return "there is no server to serve on stdio";
  if (name.empty() && servers.size() > 1 && !config::is_aggregated(config)) {
    return fmt::format("stdio serves one server, and there are {}: choose with --server {}", names,
                       servers.front().name);
  }
  if (name.empty()) return {};
  std::erase_if(servers, [&](const config::Server& server) { return server.name != name; });
  return servers.empty() ? fmt::format("--server {}: there is {}", config::clip(name), names) : std::string();
}

}  // namespace lineward::cli
