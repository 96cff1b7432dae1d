#include "operate/cli/connect_target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "config/options/names.h"
#include "config/options/read_value.h"
#include "foundation/log/sanitize.h"
#include "operate/cli/control_client.h"
#include "operate/cli/control_commands.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/local_address.h"
#include "operate/cli/prepare.h"
#include "operate/cli/stdio_command.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

// The target gateway has its own limits and reports them; the private gateway's limits must not expire first.
constexpr const char* kTheirLimits = "24h";

std::string first_word(const std::string& text, char end) {
  return text.substr(0, text.find(end));
}

struct Place {
  std::string url, fault;
};

// The same origin with another path: http://host:port/path, or unix:/path/of/socket:/path.
std::string with_path(const std::string& url, const std::string& path) {
  const size_t scheme = url.find("://");
  const size_t end = scheme != std::string::npos ? url.find('/', scheme + 3) : url.rfind(':') + 1;
  return url.substr(0, end) + path;
}

// The path of the server of that name, or of the aggregate.
Place place_of(const json& status, const std::string& name) {
  Place place;
  place.url = reachable(text_of(status, "url"));
  std::vector<std::string> names;
  std::string aggregate;  // the aggregate's path, which is its name
  for (const json& one : status.value("upstreams", json::array())) {
    if (text_of(one, "kind") == "together") {
      aggregate = text_of(one, "name");
    } else {
      names.push_back(text_of(one, "name"));
    }
  }
  if (place.url == "stdio") {
    place.fault =
        "that gateway has one client, on its stdin and stdout: name the server's URL or command instead";
  } else if (names.empty()) {
    place.fault = "that gateway has no server";
  } else if (name.empty()) {
    if (!aggregate.empty()) place.url = with_path(place.url, aggregate);
    if (names.size() > 1 && aggregate.empty())
      place.fault = fmt::format("the gateway has several servers; choose one: --upstream {}",
                                fmt::join(names, ", --upstream "));
  } else if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string_view likely = config::nearest(name, {names.begin(), names.end()});
    place.fault = likely.empty() ? fmt::format("the gateway has no server '{}'; it has {}",
                                               config::clip(name), fmt::join(names, ", "))
                                 : fmt::format("the gateway has no server '{}'; did you mean '{}'?",
                                               config::clip(name), likely);
  } else if (names.size() > 1) {
    place.url += (place.url.back() == '/' ? "" : "/") + name;  // listen.path may be just "/"
  }
  return place;
}

// Fills in the running gateway's URL; or an exit code after the error was printed.
ExitCode take_running_gateway(TargetFlags& flags, Target& target, const CommandContext& around) {
  auto chosen = running_gateway(flags.admin, around);
  if (auto* code = std::get_if<ExitCode>(&chosen)) {
    if (*code == ExitCode::unavailable)
      around.err << fmt::format("  or     name a server: {}\n",
                                flags.server.help == "lineward tools --help"
                                    ? "lineward tools -- COMMAND, lineward tools URL"
                                    : "lineward call TOOL -- COMMAND, --url URL");
    return *code;
  }
  target.control_socket = std::get<std::string>(chosen);
  auto status = ask(target.control_socket, "/api/v1/status");
  if (!status || status->status != 200) {
    around.err << fmt::format("error: {}\n  where  the control socket {}\n",
                              status ? text_of(status->body, "error") : status.error().text,
                              target.control_socket);
    return ExitCode::unavailable;
  }
  Place place = place_of(status->body, flags.server.server);
  if (!place.fault.empty()) return bad_usage(around.err, place.fault, flags.server.help);
  target.where = "the gateway at " + place.url;
  target.upstream = flags.server.server;
  // The name distinguishes the private gateway's errors from those of the running one.
  flags.server.name = kRunningGateway;
  flags.server.url = std::move(place.url);
  flags.server.server.clear();
  if (flags.server.timeout.empty()) flags.server.timeout = kTheirLimits;
  if (flags.server.max_duration.empty()) flags.server.max_duration = kTheirLimits;
  return ExitCode::ok;
}

}  // namespace

void add_target(CLI::App& command, TargetFlags& flags) {
  Flags& server = flags.server;
  auto text = [&](const char* name, std::string& target, const char* help, const char* type) {
    command.add_option(name, target, help)->type_name(type);
  };
  text("--upstream,--server", server.server, "A server of the running gateway, or of the configuration file",
       "NAME");
  text("--url", server.url, "A server that speaks HTTP, instead of the running gateway", "URL");
  text("--config", server.config, "A server of this configuration file, which is started for this command",
       "FILE");
  add_headers(command, server);
  text("--token-file", flags.token_file, "A file with a token, which is sent as Authorization: Bearer",
       "FILE");
  add_server_command(command, server);
  text("--protocol-era", server.protocol_era, "auto, legacy or modern", "WORD");
  text("--timeout", server.timeout,
       "A call ends after this long without answer and progress (60s, or as the running gateway has it)",
       "DUR");
  text("--max-duration", server.max_duration,
       "The longest duration of a call (10m, or as the running gateway has it)", "DUR");
  text("--admin", flags.admin, "The running gateway's control socket: unix:/path", "ADDR");
  command.add_option("--color", server.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command.add_flag("-v,--verbose", server.verbose, "Log the actions of the gateway that this command starts");
}

std::variant<Target, ExitCode> find_target(TargetFlags flags, const CommandContext& around) {
  Flags& server = flags.server;
  const std::string help(server.help);
  if (!server.url.empty() + server.has_server + !server.config.empty() > 1)
    return bad_usage(around.err,
                     "a URL, a file and a command behind -- are different servers: give one of them", help);
  Target target;
  if (server.url.empty() && !server.has_server && server.config.empty()) {
    const ExitCode code = take_running_gateway(flags, target, around);
    if (code != ExitCode::ok) return code;
  } else if (!flags.admin.empty()) {
    return bad_usage(around.err, "--admin names a running gateway: give it, or a server", help);
  } else if (!server.server.empty() && server.config.empty()) {
    return bad_usage(around.err, "--upstream belongs to the running gateway, or to --config", help);
  }
  if (!flags.token_file.empty()) {
    if (server.url.empty())
      return bad_usage(around.err, "--token-file belongs to --url, or to the running gateway", help);
    server.headers.push_back("Authorization: Bearer ${file:" + flags.token_file + "}");
  }
  if (target.where.empty()) {
    target.where = !server.url.empty() ? sanitize(first_word(server.url, '?'))
                   : !server.config.empty()
                       ? sanitize(server.config)
                       : sanitize(fmt::format("{}", fmt::join(server.server_words, " ")), 100);
  }
  target.logs = server.verbose;
  server.listen = "stdio";
  auto prepared = prepare_run(std::move(server), around);
  if (auto* code = std::get_if<ExitCode>(&prepared)) return *code;
  target.config = std::move(std::get<Invocation>(prepared).config);
  return target;
}

}  // namespace lineward::cli
