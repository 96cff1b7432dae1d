#include "operate/cli/server_edit.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "config/options/names.h"
#include "config/options/read_value.h"
#include "config/reader/load.h"
#include "operate/cli/control_client.h"
#include "operate/cli/control_text.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/own_file.h"
#include "operate/cli/prepare.h"
#include "operate/cli/server_file.h"
#include "operate/cli/server_flags.h"
#include "plugins/registry.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> kActions{"add", "remove", "enable", "disable", "list"};
constexpr const char* kHelp = "lineward server --help";

// The gateway that serves the configuration, if one runs.
struct Gateway {
  std::string socket;  // empty: none
  std::string config;  // its file, absolute
  pid_t pid = 0;
};

// Relative to that process's own directory.
std::string absolute(const std::string& path, pid_t pid) {
  if (path.empty() || path[0] == '/') return path;
  std::array<char, 4096> buffer;
  const std::string link = fmt::format("/proc/{}/cwd", pid);
  const ssize_t size = ::readlink(link.c_str(), buffer.data(), buffer.size());
  return size <= 0 ? path : std::string(buffer.data(), static_cast<size_t>(size)) + "/" + path;
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::optional<Gateway> look_at_gateway(const std::string& socket) {
  auto status = ask(socket, "/api/v1/status");
  if (!status || status->status != 200) return std::nullopt;
  Gateway gateway;
  gateway.socket = socket;
  gateway.pid = static_cast<pid_t>(number_of(status->body, "pid"));
  gateway.config = absolute(text_of(status->body, "config"), gateway.pid);
  return gateway;
}

// The running gateways; with --admin that one.
std::vector<Gateway> gateways(const GatewayFlags& flags, const CommandContext& around) {
  const Found found = find_gateway(address_of(flags, around));
  std::vector<std::string> sockets = found.several;
  if (!found.socket.empty()) sockets.push_back(found.socket);
  std::vector<Gateway> out;
  for (const std::string& socket : sockets) {
    if (auto one = look_at_gateway(socket)) out.push_back(std::move(*one));
  }
  return out;
}

struct OwnTarget {
  std::string config, own;  // files
  Gateway gateway;
};

ExitCode error(const CommandContext& around, const std::string& text, const std::string& fix,
               ExitCode code = ExitCode::failure) {
  around.err << "error: " << text << "\n";
  if (!fix.empty()) around.err << "  fix    " << fix << "\n";
  return code;
}

config::LoadResult load(const std::string& file, const CommandContext& around, config::FileTexts texts = {}) {
  config::LoadOptions options;
  options.env = around.env;
  options.plugins = &plugins::specs();
  options.included_texts = std::move(texts);
  options.look_at_plugins = false;
  return config::load_file(file, options);
}

// A variable may be set in the gateway's environment only; the gateway itself checks that.
bool is_usable(const config::LoadResult& result) {
  return std::none_of(result.diagnostics.begin(), result.diagnostics.end(), [](const auto& one) {
    return one.severity == config::Severity::error && one.code != "missing-variable";
  });
}

const config::Server* find_server(const config::LoadResult& loaded, const std::string& name) {
  const auto& servers = loaded.config.servers;
  const auto found =
      std::find_if(servers.begin(), servers.end(), [&](const auto& one) { return one.name == name; });
  return found == servers.end() ? nullptr : &*found;
}

std::string file_of(const config::Server& server, const OwnTarget& target) {
  return server.file.empty() ? target.config : server.file;
}

// The server that the command line describes; the error, or empty. `-e K` alone names a variable of the
// gateway's environment.
std::string describe(const ServerEdit& edit, NewServer& out) {
  const Flags& flags = edit.server;
  out.name = edit.name;
  out.url = flags.url;
  out.cwd = flags.cwd;
  if (flags.url.empty()) {
    out.command = flags.server_words.front();
    out.args.assign(flags.server_words.begin() + 1, flags.server_words.end());
  }
  for (const std::string& entry : flags.env) {
    const size_t equals = entry.find('=');
    std::string name = entry.substr(0, equals);
    if (name.empty()) return "-e: write NAME=value, or NAME for the variable of the gateway";
    std::string value = equals == std::string::npos ? "${env:" + name + "}" : entry.substr(equals + 1);
    out.env.emplace_back(std::move(name), std::move(value));
  }
  for (const std::string& given : flags.headers) {
    const size_t colon = given.find(':');
    const size_t value = given.find_first_not_of(" \t", colon == std::string::npos ? colon : colon + 1);
    if (colon == std::string::npos || colon == 0 || value == std::string::npos)
      return "-H: write -H 'Name: value', with the quotes";
    out.headers.emplace_back(given.substr(0, colon), given.substr(value));
  }
  return {};
}

ExitCode print_list(const OwnTarget& target, const config::LoadResult& loaded, const GatewayFlags& gateway,
                    const CommandContext& around) {
  json all = json::array();
  std::vector<Row> rows{{"SERVER", "STATE", "KIND", "FILE"}};
  for (const config::Server& server : loaded.config.servers) {
    const char* state = server.disabled ? "disabled" : "enabled";
    const char* kind = server.url.empty() ? "stdio" : "http";
    all.push_back({{"name", server.name},
                   {"disabled", server.disabled},
                   {"kind", kind},
                   {"file", file_of(server, target)}});
    rows.push_back({server.name, state, kind, file_of(server, target)});
  }
  if (gateway.json()) {
    json answer{{"servers", std::move(all)}};
    make_printable(answer);
    around.out << answer.dump(2) << "\n";
  } else {
    around.out << table(rows, style_of(gateway, around));
  }
  return ExitCode::ok;
}

// The change in the own file; the error, or empty. `done`: the server is so already.
std::string change(const ServerEdit& edit, const config::LoadResult& loaded, const OwnTarget& target,
                   ServerFile& file, bool& done) {
  const config::Server* server = find_server(loaded, edit.name);
  if (edit.action == "add") {
    if (server != nullptr)
      return fmt::format("{} has a server '{}' already", file_of(*server, target), edit.name);
    NewServer added;
    std::string fault = describe(edit, added);
    file.remove(edit.name);
    if (fault.empty()) file.add(added);
    return fault;
  }
  if (server == nullptr && !file.has(edit.name) && !file.is_disabled(edit.name))
    return fmt::format("there is no server '{}'", config::clip(edit.name));
  if (edit.action == "remove") {
    const bool was_disabled = file.is_disabled(edit.name);
    // A name that is only disabled is of a server that is no more.
    if (file.remove(edit.name) || (was_disabled && server == nullptr)) return {};
    return fmt::format(
        "'{}' is defined in {}, which Lineward does not change: remove it there, or use disable", edit.name,
        server == nullptr ? target.config : file_of(*server, target));
  }
  if (edit.action == "disable") {
    done = server != nullptr && server->disabled;
    if (!done) file.disable(edit.name);
    return {};
  }
  if (file.enable(edit.name)) return {};
  done = server != nullptr && !server->disabled;
  if (done) return {};
  return fmt::format("'{}' is disabled in {}, which Lineward does not change", edit.name,
                     file_of(*server, target));
}

// The gateway reads it; the file from before comes back if it rejects that.
ExitCode reload_gateway(const OwnTarget& target, const std::string& before, OwnFile& file,
                        const DirectoryLock& lock, const GatewayFlags& gateway,
                        const CommandContext& around) {
  auto reply = ask(target.gateway.socket, "/api/v1/reload", json{{"dryRun", false}}.dump());
  if (!reply) return failed(around, target.gateway.socket, reply.error().text + "; the file is written");
  const std::string report = text_of(reply->body, "report");
  if (gateway.json()) around.out << reply->body.dump(2) << "\n";
  if (reply->status == 200) {
    around.err << report;
    if (!gateway.json()) around.out << reload_text(reply->body);
    return ExitCode::ok;
  }
  if (reply->status != 422 && reply->status != 409) {
    const ExitCode code = refused(around, target.gateway.socket, "/api/v1/reload", *reply);
    around.err << target.own << " is written: the gateway takes the change with its next reload\n";
    return code;
  }
  around.err << (report.empty() ? "error: " + text_of(reply->body, "error") + "\n" : report);
  const std::string fault = file.take_back(before, lock);
  if (!fault.empty()) return error(around, fault, "the change is still in " + target.own);
  around.err << "nothing was changed: the configuration before stays in effect\n";
  return reply->status == 409 ? ExitCode::failure : ExitCode::bad_config;
}

}  // namespace

bool is_server_edit(std::string_view word) {
  return std::find(kActions.begin(), kActions.end(), word) != kActions.end();
}

std::string fault_of(const ServerEdit& edit) {
  const Flags& flags = edit.server;
  const bool describes = flags.has_server || !flags.url.empty() || !flags.env.empty() ||
                         !flags.headers.empty() || !flags.cwd.empty();
  if (edit.action == "list")
    return edit.name.empty() && !describes ? "" : "list takes no server: lineward server NAME shows one";
  if (edit.name.empty()) return fmt::format("name a server: lineward server {} NAME", edit.action);
  if (!config::is_server_name(edit.name))
    return fmt::format("'{}' cannot be the name of a server: use 1 to 64 of A-Z a-z 0-9 _ -",
                       config::clip(edit.name));
  if (edit.action != "add")
    return describes ? "--url, -H, -e, --cwd and a command behind -- belong to add" : "";
  if (const std::string fault = misplaced_server_flag(flags); !fault.empty()) return fault;
  if (!flags.has_server && flags.url.empty()) return "add needs --url URL, or a command behind --";
  return flags.url.empty() && (flags.server_words.empty() || flags.server_words.front().empty())
             ? "there is no command behind --"
             : "";
}

ExitCode edit_servers(const ServerEdit& edit, const GatewayFlags& gateway, const CommandContext& around) {
  std::vector<Gateway> running = gateways(gateway, around);
  OwnTarget target;
  Flags search;
  search.config = edit.config;
  const bool named = !edit.config.empty() || !around.variable("LINEWARD_CONFIG").empty();
  if (!named && running.size() > 1)
    return bad_usage(around.err,
                     fmt::format("{} gateways are running; name one with --admin, or a file with --config",
                                 running.size()),
                     kHelp);
  if (!named && running.size() == 1) {
    target.config = running.front().config;
  } else {
    target.config = configuration_file(search, around);
  }
  if (target.config.empty())
    return bad_usage(around.err,
                     fmt::format("there is no configuration; looked for {}", searched_places(around)), kHelp);
  for (Gateway& one : running) {
    if (is_same_file(one.config, target.config)) target.gateway = std::move(one);
  }
  config::LoadResult loaded = load(target.config, around);
  if (loaded.unreadable || !is_usable(loaded)) {
    around.err << loaded.report(around.wants_colour(gateway.color, around.err_is_terminal()));
    return loaded.not_permitted ? ExitCode::no_permission : ExitCode::bad_config;
  }
  if (edit.action == "list") return print_list(target, loaded, gateway, around);
  const auto own = config::own_file_of(loaded.config.include, config::directory_of(target.config));
  if (!own)
    return error(
        around,
        fmt::format("{} includes no file that lineward may write ({})", target.config, config::kOwnFile),
        "add to it: include: [\"servers.d/*.yaml\"]", ExitCode::bad_config);
  target.own = *own;
  const std::string directory = config::directory_of(target.own);
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
    return error(around, fmt::format("cannot make {}: {}", directory, std::strerror(errno)), {},
                 ExitCode::no_permission);
  DirectoryLock lock(directory);
  if (const std::string fault = lock.take(); !fault.empty())
    return error(around, fmt::format("cannot lock {}: {}", directory, fault), {});
  OwnFile written(target.own, target.config, target.gateway.pid);
  if (const std::string fault = written.unfit(); !fault.empty())
    return error(around, fault, "put a file in its place, or name another one first in include");
  loaded = load(target.config, around);  // as it is now that no other command changes it
  std::string before;
  if (::access(target.own.c_str(), F_OK) == 0) {
    auto text = config::read_small_file(target.own, config::kMaxDocumentBytes);
    if (!text)
      return error(around, fmt::format("cannot read {}", text.error().text), {}, ExitCode::no_permission);
    before = std::move(*text);
  }
  auto file = ServerFile::read(before, target.own);
  if (!file) return error(around, file.error().text, {});
  bool done = false;
  if (const std::string fault = change(edit, loaded, target, *file, done); !fault.empty())
    return error(around, fault, {});
  if (done) {
    around.out << fmt::format("{} is {}d already\n", edit.name, edit.action);
    return ExitCode::ok;
  }
  const std::string text = file->text();
  config::LoadResult next = load(target.config, around, {{target.own, text}});
  if (!is_usable(next)) {
    around.err << next.report(around.wants_colour(gateway.color, around.err_is_terminal()))
               << "nothing was written\n";
    return ExitCode::bad_config;
  }
  if (const std::string fault = written.write(text, lock); !fault.empty())
    return error(around, fault, {}, ExitCode::no_permission);
  if (!target.gateway.socket.empty()) return reload_gateway(target, before, written, lock, gateway, around);
  around.out << fmt::format("{} is written; no running gateway of this user has {}\n", target.own,
                            target.config);
  return ExitCode::ok;
}

}  // namespace lineward::cli
