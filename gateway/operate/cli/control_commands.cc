#include "operate/cli/control_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "config/duration.h"
#include "config/options/options.h"
#include "config/options/read_value.h"
#include "operate/cli/control_text.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/server_name.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

constexpr const char* kPsFooter =
    "With ID: everything that is known of that call; the last 256 calls that ended can be named too.\n"
    "\n"
    "Examples\n"
    "  lineward ps\n"
    "  lineward ps --older 30s --upstream github\n"
    "  lineward ps c9f2\n"
    "  lineward ps --all --format json";
constexpr const char* kCancelFooter =
    "The client gets error 499, and the server gets the cancel. The command prints what the server did\n"
    "then, which takes up to cancelGrace (5s).\n"
    "\n"
    "Examples\n"
    "  lineward cancel c9f2 --reason \"wrong repo\"\n"
    "  lineward cancel --upstream github --older 5m --yes";
constexpr const char* kReloadFooter =
    "Prints each change and its effect. Unchanged servers keep their processes, connections, sessions\n"
    "and streams. A file with errors changes nothing: the errors are printed, and the exit code is 78.\n"
    "\n"
    "Examples\n"
    "  lineward reload\n"
    "  lineward reload --dry-run";
constexpr const char* kStatusFooter = "Examples\n  lineward status\n  lineward status --format json";

Style wide_style_of(const ControlFlags& flags, const CommandContext& around) {
  Style style = style_of(flags, around);
  style.wide = flags.wide;
  return style;
}

struct Filter {
  std::string upstream, method;
  int64_t older_ms = 0;
  bool takes(const json& call) const {
    return (upstream.empty() || text_of(call, "upstream") == upstream ||
            text_of(call, "route") == upstream) &&
           (method.empty() || text_of(call, "method") == method) && number_of(call, "age_ms") >= older_ms;
  }
};

json filtered(const json& body, const char* list, const Filter& filter) {
  json out = json::array();
  auto found = body.find(list);
  if (found == body.end()) return out;
  for (const json& call : *found) {
    if (filter.takes(call)) out.push_back(call);
  }
  return out;
}

// Checks a filter's server name when nothing matched.
std::optional<ExitCode> wrong_filter(const std::string& socket, const Filter& filter,
                                     const CommandContext& around) {
  return filter.upstream.empty() ? std::nullopt : wrong_server(socket, filter.upstream, around);
}

Result<ControlReply> ask_for_calls(const std::string& socket, bool all) {
  return ask_pages(socket, all ? "/api/v1/calls?all" : "/api/v1/calls", "calls");
}

ExitCode no_such_call(const std::string& id, const json& body, const CommandContext& around) {
  around.err << "error: no call " << id << " in flight; ";
  if (auto ended = body.find("ended"); ended != body.end()) {
    around.err << end_line(*ended) << " (lineward ps " << id << ")\n";
  } else {
    around.err << "it is none of the last 256 that ended (lineward ps --all)\n";
  }
  return ExitCode::failure;
}

ExitCode show_one(const std::string& socket, const ControlFlags& flags, const CommandContext& around) {
  for (const std::string& id : flags.ids) {
    auto reply = ask(socket, "/api/v1/calls/" + id);
    if (!reply) return failed(around, socket, reply.error().text);
    if (reply->status == 404) return no_such_call(id, reply->body, around);
    if (reply->status != 200) return refused(around, socket, "/api/v1/calls/{id}", *reply);
    around.out << (flags.format == "json" ? reply->body.dump(2) + "\n"
                                          : call_text(reply->body, wide_style_of(flags, around)));
  }
  return ExitCode::ok;
}

ExitCode ps(const std::string& socket, const ControlFlags& flags, const Filter& filter,
            const CommandContext& around) {
  if (!flags.ids.empty()) return show_one(socket, flags, around);
  auto reply = ask_for_calls(socket, flags.all);
  if (!reply) return failed(around, socket, reply.error().text);
  if (reply->status != 200) return refused(around, socket, "/api/v1/calls", *reply);
  json calls = filtered(reply->body, "calls", filter);
  json ended = filtered(reply->body, "ended", filter);
  if (calls.empty() && ended.empty()) {
    if (auto said = wrong_filter(socket, filter, around)) return *said;
  }
  if (flags.format == "json") {
    json out{{"calls", std::move(calls)}};
    if (flags.all) out["ended"] = std::move(ended);
    around.out << out.dump(2) << "\n";
    return ExitCode::ok;
  }
  for (json& call : ended)
    calls.push_back(std::move(call));
  if (calls.empty()) {
    around.err << "no calls in flight" << (flags.all ? ", and none has ended\n" : "\n");
    return ExitCode::ok;
  }
  around.out << calls_table(calls, wide_style_of(flags, around));
  return ExitCode::ok;
}

ExitCode cancel(const std::string& socket, const ControlFlags& flags, const Filter& filter,
                const CommandContext& around) {
  std::vector<std::string> ids = flags.ids;
  if (ids.empty()) {
    auto reply = ask_for_calls(socket, false);
    if (!reply) return failed(around, socket, reply.error().text);
    if (reply->status != 200) return refused(around, socket, "/api/v1/calls", *reply);
    json calls = filtered(reply->body, "calls", filter);
    for (const json& call : calls)
      ids.push_back(text_of(call, "id"));
    if (ids.empty()) {
      if (auto said = wrong_filter(socket, filter, around)) return *said;
      around.err << "no such call in flight\n";
      return ExitCode::ok;
    }
    if (!flags.yes) {
      around.out << calls_table(calls, wide_style_of(flags, around));
      around.err << fmt::format("{} would be cancelled; add --yes to do it\n",
                                counted(static_cast<int64_t>(ids.size()), "call"));
      return ExitCode::usage;
    }
  }
  auto status = ask(socket, "/api/v1/status");
  if (!status) return failed(around, socket, status.error().text);
  // A single cancel waits for its outcome; several do not.
  ExitCode code = ExitCode::ok;
  for (const std::string& id : ids) {
    json body{{"reason", flags.reason}, {"wait", ids.size() == 1}};
    auto reply = ask(socket, "/api/v1/calls/" + id + "/cancel",
                     body.dump(-1, ' ', false, json::error_handler_t::replace));
    if (!reply) return failed(around, socket, reply.error().text);
    if (reply->status == 404) {
      code = no_such_call(id, reply->body, around);
      continue;
    }
    if (reply->status != 200) return refused(around, socket, "/api/v1/calls/{id}/cancel", *reply);
    int64_t grace = 0;
    for (const json& one : status->body.value("upstreams", json::array())) {
      if (text_of(one, "name") == text_of(reply->body, "upstream")) grace = number_of(one, "cancel_grace_ms");
    }
    around.out << (flags.format == "json" ? reply->body.dump() + "\n" : cancel_line(reply->body, grace));
    around.out.flush();
  }
  return code;
}

ExitCode status(const std::string& socket, const ControlFlags& flags, const CommandContext& around) {
  auto reply = ask(socket, "/api/v1/status");
  if (!reply) return failed(around, socket, reply.error().text);
  if (reply->status != 200) return refused(around, socket, "/api/v1/status", *reply);
  around.out << (flags.format == "json" ? reply->body.dump(2) + "\n"
                                        : status_screen(reply->body, wide_style_of(flags, around)));
  return ExitCode::ok;
}

ExitCode reload(const std::string& socket, const ControlFlags& flags, const CommandContext& around) {
  auto reply = ask(socket, "/api/v1/reload", json{{"dryRun", flags.dry_run}}.dump());
  if (!reply) return failed(around, socket, reply.error().text);
  std::string report = text_of(reply->body, "report");
  if (flags.format == "json") around.out << reply->body.dump(2) << "\n";
  if (reply->status == 200) {
    around.err << report;
    if (flags.format != "json") around.out << reload_text(reply->body);
    return ExitCode::ok;
  }
  if (reply->status != 422 && reply->status != 409) return refused(around, socket, "/api/v1/reload", *reply);
  around.err << (report.empty() ? "error: " + text_of(reply->body, "error") + "\n" : report);
  if (reply->status == 409) return ExitCode::failure;
  around.err << "nothing was changed: the configuration before stays in effect\n";
  return ExitCode::bad_config;
}

bool is_plain_id(const std::string& id) {
  return !id.empty() && id.size() <= 20 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

void add_control(CLI::App& app, ControlFlags& flags) {
  auto command = [&](const char* name, const char* about, const char* footer) {
    CLI::App* added = app.add_subcommand(name, about);
    add_gateway_flags(*added, flags);
    added->footer(footer);
    return added;
  };
  auto filters = [&](CLI::App* to) {
    to->add_option("--upstream", flags.upstream,
                   "Only calls to this server, or at this path of several servers")
        ->type_name("NAME");
    to->add_option("--older", flags.older, "Only calls that are older than this")->type_name("DUR");
    to->add_option("--method", flags.method, "Only calls of this method")->type_name("METHOD");
  };
  CLI::App* ps = command("ps", "Lists the calls in flight.", kPsFooter);
  ps->add_option("ID", flags.ids, "A call, of which all details are shown")->type_name("");
  filters(ps);
  ps->add_flag("--all", flags.all, "Also the last 256 calls that have ended");
  ps->add_flag("--wide", flags.wide, "Do not shorten columns; show addresses too");
  CLI::App* cancel = command("cancel", "Cancels calls in flight.", kCancelFooter);
  cancel->add_option("ID", flags.ids, "The calls, as ps names them")->type_name("");
  filters(cancel);
  cancel->add_option("--reason", flags.reason, "The reason, for the client, the server and the log")
      ->type_name("TEXT");
  cancel->add_flag("--yes", flags.yes, "Cancel all that --upstream, --older and --method select");
  command("status", "Shows the state of the running gateway on one screen.", kStatusFooter);
  CLI::App* again = command("reload", "Reads the configuration file again.", kReloadFooter);
  again->add_flag("--dry-run", flags.dry_run, "Only print what would happen");
}

bool is_control(std::string_view command) {
  return command == "ps" || command == "cancel" || command == "status" || command == "reload";
}

ExitCode run_control(std::string_view command, const ControlFlags& flags, const CommandContext& around) {
  std::string help = fmt::format("lineward {} --help", command);
  for (const std::string& id : flags.ids) {
    if (!is_plain_id(id))
      return bad_usage(around.err, fmt::format("'{}' is no call", config::clip(id)), help);
  }
  Filter filter{flags.upstream, flags.method, 0};
  if (!flags.older.empty()) {
    auto older = config::parse_duration(flags.older);
    if (!older) return bad_usage(around.err, "--older: " + older.error().text, help);
    filter.older_ms = older->count();
  }
  bool filters = !flags.upstream.empty() || !flags.older.empty() || !flags.method.empty();
  if (command == "cancel" && flags.ids.empty() && !filters)
    return bad_usage(around.err, "name a call, or select some with --upstream, --older or --method", help);
  if (!flags.ids.empty() && filters)
    return bad_usage(around.err, "name calls, or select them: not both", help);
  auto chosen = choose_gateway(flags, around);
  if (auto* code = std::get_if<ExitCode>(&chosen)) return *code;
  const std::string& socket = std::get<std::string>(chosen);
  if (command == "ps") return ps(socket, flags, filter, around);
  if (command == "cancel") return cancel(socket, flags, filter, around);
  if (command == "reload") return reload(socket, flags, around);
  return status(socket, flags, around);
}

std::variant<std::string, ExitCode> running_gateway(const std::string& address,
                                                    const CommandContext& around) {
  ControlFlags flags;
  flags.admin = address;
  return choose_gateway(flags, around);
}

}  // namespace lineward::cli
