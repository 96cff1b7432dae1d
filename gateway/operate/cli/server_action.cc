#include "operate/cli/server_action.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <iostream>
#include <optional>

#include "operate/cli/control_text.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/list_text.h"
#include "operate/cli/server_name.h"

namespace lineward::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLookAgain{200};
constexpr std::chrono::seconds kPatience{60};  // for the answer to the confirmation

// Encodes a name as a path segment.
std::string in_path(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string path_of(const std::string& name) {
  return "/api/v1/servers/" + in_path(name);
}

enum class Decision : uint8_t { yes, no, nobody_to_ask };

Decision ask_whether(const std::string& question, const CommandContext& around) {
  if (isatty(STDIN_FILENO) != 1 || !around.err_is_terminal()) return Decision::nobody_to_ask;
  around.err << question << " Go on? [y/N] ";
  around.err.flush();
  pollfd input{STDIN_FILENO, POLLIN, 0};
  std::string said;
  if (poll(&input, 1, static_cast<int>(milliseconds(kPatience).count())) <= 0 ||
      !std::getline(std::cin, said)) {
    around.err << "\n";
    return Decision::no;
  }
  return said == "y" || said == "Y" || said == "yes" ? Decision::yes : Decision::no;
}

// nullopt if the action may proceed.
std::optional<ExitCode> unwanted(const ServerAction& wanted, const ServerWork& work,
                                 const CommandContext& around) {
  if (!ends_work(wanted.action, wanted.force) || wanted.yes || !work.any()) return std::nullopt;
  const std::string effect =
      fmt::format("{} {} {}.", wanted.action, wanted.name, action_effect(wanted.action, wanted.force, work));
  switch (ask_whether(effect, around)) {
    case Decision::yes: return std::nullopt;
    case Decision::no: around.err << "nothing was done\n"; return ExitCode::failure;
    case Decision::nobody_to_ask: break;
  }
  around.err << fmt::format("{} Add --yes to do it{}\n", effect,
                            wanted.action == "stop" ? ", or drain it: its calls go on then" : "");
  return ExitCode::usage;
}

std::string origin_done(const ServerAction& wanted, const json& acted) {
  if (wanted.action == "start") return fmt::format("{} gets calls again\n", wanted.origin);
  return fmt::format(
      "{} takes no new calls; {}\n", wanted.origin,
      action_effect("drain", false, {number_of(acted, "calls"), 0, number_of(acted, "sessions")}));
}

// A drained origin is free.
bool is_free(const ServerAction& wanted, const json& server) {
  for (const json& one : member_of(server, "origins")) {
    if (text_of(one, "name") == wanted.origin)
      return number_of(one, "in_flight") + number_of(one, "sessions") == 0;
  }
  return true;
}

// The exit code once the server has reached the action's state; nullopt before.
std::optional<ExitCode> arrived(const ServerAction& wanted, const json& server,
                                const CommandContext& around) {
  if (!wanted.origin.empty()) {
    const bool is_over = wanted.action == "start" || is_free(wanted, server);
    return is_over ? std::optional(ExitCode::ok) : std::nullopt;
  }
  const std::string state = text_of(server, "state");
  const bool leaves = wanted.action == "stop" || wanted.action == "drain";
  if (leaves) return state == "disabled" ? std::optional(ExitCode::ok) : std::nullopt;
  if (state == "ready" || state == "idle") return ExitCode::ok;
  if (state == "starting" || state == "draining") return std::nullopt;
  around.err << fmt::format(
      "error: {} did not come up: {}{}\n  fix    lineward server {} shows what it wrote\n", wanted.name,
      state, text_of(server, "why").empty() ? "" : ", " + text_of(server, "why"), wanted.name);
  return ExitCode::failure;
}

ExitCode wait_for(const std::string& socket, const ServerAction& wanted, const CommandContext& around) {
  const auto until = steady_clock::now() + wanted.limit;
  for (;;) {
    auto look = look_at_server(socket, wanted.name, around);
    if (auto* code = std::get_if<ExitCode>(&look)) return *code;
    const json& server = std::get<json>(look);
    if (auto code = arrived(wanted, server, around)) return *code;
    if (steady_clock::now() >= until) {
      const ServerWork work = work_of(server);
      around.err << fmt::format("error: {} is still {} after {}: {}\n", wanted.name, text_of(server, "state"),
                                short_time(wanted.limit.count()),
                                action_effect(wanted.action, wanted.force, work));
      return ExitCode::timed_out;
    }
    poll(nullptr, 0, static_cast<int>(kLookAgain.count()));
  }
}

}  // namespace

std::variant<json, ExitCode> look_at_server(const std::string& socket, const std::string& name,
                                            const CommandContext& around) {
  auto reply = ask(socket, path_of(name));
  if (!reply) return failed(around, socket, reply.error().text);
  if (reply->status == 404) {
    // A missing server or a missing path: the list of servers decides.
    if (auto said = wrong_server(socket, name, around)) return *said;
  }
  if (reply->status != 200) return refused(around, socket, path_of(name), *reply);
  return std::move(reply->body);
}

ExitCode act_on_server(const std::string& socket, const ServerAction& wanted, const CommandContext& around) {
  auto before = look_at_server(socket, wanted.name, around);
  if (auto* code = std::get_if<ExitCode>(&before)) return *code;
  const ServerWork work = work_of(std::get<json>(before));
  if (auto code = unwanted(wanted, work, around)) return *code;
  json body{{"force", wanted.force}, {"reason", wanted.reason}};
  if (!wanted.origin.empty()) body["origin"] = wanted.origin;
  const std::string path = path_of(wanted.name) + "/" + wanted.action;
  auto reply = ask(socket, path, body.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!reply) return failed(around, socket, reply.error().text);
  if (reply->status == 404 || reply->status == 409) {
    around.err << "error: " << text_of(reply->body, "error") << "\n";
    return ExitCode::failure;
  }
  if (reply->status != 200) return refused(around, socket, path, *reply);
  if (wanted.json) {
    around.out << reply->body.dump(2) << "\n";
  } else {
    around.out << (wanted.origin.empty() ? action_done(wanted.action, wanted.name, wanted.force, work)
                                         : origin_done(wanted, reply->body));
  }
  around.out.flush();
  return wanted.wait ? wait_for(socket, wanted, around) : ExitCode::ok;
}

}  // namespace lineward::cli
