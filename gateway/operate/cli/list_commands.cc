#include "operate/cli/list_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "config/duration.h"
#include "config/options/read_value.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/list_text.h"
#include "operate/cli/prepare.h"
#include "operate/cli/server_action.h"
#include "operate/cli/server_edit.h"
#include "operate/cli/server_name.h"
#include "operate/cli/stdio_command.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

constexpr const char* kServersFooter =
    "ENDED and TIMEOUTS count calls since the start of the gateway. MEMORY is the memory of all processes\n"
    "of a server.\n"
    "\n"
    "Examples\n"
    "  lineward servers\n"
    "  lineward servers --format json";
constexpr const char* kServerFooter =
    "NAME alone shows the server's state, and the last lines that it wrote on stderr. The actions:\n"
    "  stop       takes it out of service and cancels its calls. Asks first if there are any\n"
    "  drain      takes it out of service; its calls continue to their end\n"
    "  restart    starts it anew; the old version ends after its last call, with --force at once\n"
    "  start      puts it back into service\n"
    "With --origin HOST:PORT, drain and start affect one of its urls.\n"
    "A stopped server stays stopped until it is started, a reload removes it, or the gateway ends.\n"
    "\n"
    "These commands change the servers of the configuration. They write only lineward-servers.yaml,\n"
    "a file that the configuration has to include:\n"
    "  add NAME       adds a server, with --url or a command behind --\n"
    "  remove NAME    removes a server that was added by add\n"
    "  disable NAME   disables any server; enable NAME enables it again\n"
    "  list           lists all servers, each with its file\n"
    "A running gateway reads the change at once. If it rejects the change, the old file is restored.\n"
    "\n"
    "Examples\n"
    "  lineward server github\n"
    "  lineward server github restart --wait\n"
    "  lineward server github stop --yes --reason \"leaks memory\"\n"
    "  lineward server add time -- uvx mcp-server-time\n"
    "  lineward server add app --url https://mcp.example.com/mcp -H 'Authorization: Bearer ${env:TOKEN}'\n"
    "  lineward server disable time";
constexpr const char* kSessionsFooter =
    "Sessions of legacy clients (initialize). SESSION is the beginning of the id, as in the log; the\n"
    "whole id is a secret, and is never shown. STREAM is `open` while the session has a GET stream, and\n"
    "`gone` with the time since the client closed its last connection. PROCESS is the session's own\n"
    "process, with the memory of this process and of its descendants.\n"
    "\n"
    "Examples\n"
    "  lineward sessions\n"
    "  lineward sessions --upstream github --format json";
constexpr const char* kSubsFooter =
    "Shows the open subscriptions/listen streams: each server, below it each client with the id of its\n"
    "request, and below that the subjects of the listen.\n"
    "\n"
    "Examples\n"
    "  lineward subs\n"
    "  lineward subs --upstream github";

// A command that prints a list.
struct Listing {
  const char* command;
  const char* path;
  const char* list;  // its name in the answer
  const char* nothing;
  std::string (*text)(const json& list, const Style& style);
};
constexpr Listing kListings[] = {
    {"servers", "/api/v1/servers", "servers", "no server is configured", servers_table},
    {"sessions", "/api/v1/sessions", "sessions", "no sessions", sessions_table},
    {"subs", "/api/v1/listens", "listens", "no open listens", listens_tree},
};

const Listing* listing_of(std::string_view command) {
  for (const Listing& one : kListings) {
    if (command == one.command) return &one;
  }
  return nullptr;
}

bool is_of(const json& one, const std::string& upstream) {
  return upstream.empty() || text_of(one, "upstream") == upstream || text_of(one, "route") == upstream;
}

ExitCode print_listing(const Listing& listing, const std::string& socket, const ListFlags& flags,
                       const CommandContext& around) {
  auto reply = ask_pages(socket, listing.path, listing.list);
  if (!reply) return failed(around, socket, reply.error().text);
  if (reply->status != 200) return refused(around, socket, listing.path, *reply);
  json wanted = json::array();
  for (json& one : reply->body[listing.list]) {
    if (is_of(one, flags.upstream)) wanted.push_back(std::move(one));
  }
  if (wanted.empty() && !flags.upstream.empty()) {
    if (auto said = wrong_server(socket, flags.upstream, around)) return *said;
  }
  if (flags.json()) {
    around.out << json{{listing.list, std::move(wanted)}}.dump(2) << "\n";
    return ExitCode::ok;
  }
  if (wanted.empty()) {
    around.err << listing.nothing << "\n";
    return ExitCode::ok;
  }
  Style style = style_of(flags, around);
  style.wide = flags.wide;
  around.out << listing.text(wanted, style);
  return ExitCode::ok;
}

ExitCode show_server(const std::string& socket, const ListFlags& flags, const CommandContext& around) {
  auto look = look_at_server(socket, flags.name, around);
  if (auto* code = std::get_if<ExitCode>(&look)) return *code;
  const json& server = std::get<json>(look);
  around.out << (flags.json() ? server.dump(2) + "\n" : server_text(server, style_of(flags, around)));
  return ExitCode::ok;
}

// The error in the arguments of `server`, or empty.
std::string fault_of(const ListFlags& flags) {
  const std::string& action = flags.action;
  if (flags.name.empty()) return "name a server (lineward servers lists them)";
  const bool none = action.empty();
  if (!none && action != "start" && action != "stop" && action != "restart" && action != "drain")
    return fmt::format("'{}' is no action: start, stop, restart or drain", config::clip(action));
  if (flags.force && action != "restart") return "--force belongs to restart";
  const Flags& added = flags.edit.server;
  if (added.has_server || !added.url.empty() || !added.headers.empty() || !added.env.empty() ||
      !added.cwd.empty() || !flags.edit.config.empty())
    return "--config, --url, -H, -e, --cwd and a command behind -- belong to add";
  if (!flags.origin.empty() && action != "drain" && action != "start")
    return "--origin belongs to drain and start";
  if (none && (flags.wait || flags.yes)) return "--wait and --yes belong to an action";
  return {};
}

}  // namespace

void add_lists(CLI::App& app, ListFlags& flags) {
  auto command = [&](const char* name, const char* about, const char* footer) {
    CLI::App* added = app.add_subcommand(name, about);
    add_gateway_flags(*added, flags);
    added->footer(footer);
    return added;
  };
  CLI::App* servers = command("servers", "Lists the servers.", kServersFooter);
  CLI::App* sessions = command("sessions", "Lists the sessions of legacy clients.", kSessionsFooter);
  CLI::App* subs = command("subs", "Shows the open listens: client, server and subjects.", kSubsFooter);
  for (CLI::App* one : {sessions, subs})
    one->add_option("--upstream", flags.upstream, "Only of this server, or at this path of several servers")
        ->type_name("NAME");
  for (CLI::App* one : {servers, sessions, subs})
    one->add_flag("--wide", flags.wide, "Do not shorten columns");
  CLI::App* server =
      command("server", "Shows one server, and starts, stops, restarts or drains it.", kServerFooter);
  server->add_option("NAME", flags.name, "The server; or add, remove, enable, disable, list")->type_name("");
  server
      ->add_option("ACTION", flags.action, "start, stop, restart or drain; or the name for add and the like")
      ->type_name("");
  server->add_option("--origin", flags.origin, "drain, start: only this one of its urls")
      ->type_name("HOST:PORT");
  server->add_flag("--force", flags.force,
                   "restart: the old version ends at once, and its calls are cancelled");
  server->add_flag("--yes", flags.yes, "Do not ask for confirmation, even if calls are cancelled");
  server->add_flag("--wait", flags.wait, "Wait until the server is ready, or has ended");
  server->add_option("--timeout", flags.timeout, "How long to wait (60s); after that the exit code is 124")
      ->type_name("DUR");
  server->add_option("--reason", flags.reason, "The reason, for the log")->type_name("TEXT");
  Flags& added = flags.edit.server;
  server
      ->add_option("--config", flags.edit.config,
                   "add and the like: the configuration; by default that of the running gateway")
      ->type_name("FILE");
  server->add_option("--url", added.url, "add: a server that speaks HTTP")->type_name("URL");
  add_headers(*server, added);
  server
      ->add_option("-e,--env", added.env,
                   "add: K=V for its command, kept in a file of mode 0600; only K: the gateway's variable")
      ->type_name("K[=V]")
      ->allow_extra_args(false);
  server->add_option("--cwd", added.cwd, "add: the working directory of its command")->type_name("DIR");
}

bool is_list(std::string_view command) {
  return command == "server" || listing_of(command) != nullptr;
}

ExitCode run_list(std::string_view command, const ListFlags& flags, const CommandContext& around) {
  constexpr const char* kHelp = "lineward server --help";
  const Listing* listing = listing_of(command);
  const auto limit = config::parse_duration(flags.timeout);
  if (listing == nullptr && is_server_edit(flags.name)) {
    ServerEdit edit = flags.edit;
    edit.action = flags.name;
    edit.name = flags.action;
    if (const std::string fault = fault_of(edit); !fault.empty()) return bad_usage(around.err, fault, kHelp);
    return edit_servers(edit, flags, around);
  }
  if (listing == nullptr) {
    if (!limit) return bad_usage(around.err, "--timeout: " + limit.error().text, kHelp);
    if (const std::string fault = fault_of(flags); !fault.empty()) return bad_usage(around.err, fault, kHelp);
  }
  auto chosen = choose_gateway(flags, around);
  if (auto* code = std::get_if<ExitCode>(&chosen)) return *code;
  const std::string& socket = std::get<std::string>(chosen);
  if (listing != nullptr) return print_listing(*listing, socket, flags, around);
  if (flags.action.empty()) return show_server(socket, flags, around);
  ServerAction wanted{flags.name,  flags.action, flags.reason, flags.origin, flags.json(),
                      flags.force, flags.yes,    flags.wait,   *limit};
  return act_on_server(socket, wanted, around);
}

}  // namespace lineward::cli
