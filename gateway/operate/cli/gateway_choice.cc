#include "operate/cli/gateway_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "operate/admin/control_path.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/prepare.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

// Limit for each gateway while listing them.
constexpr std::chrono::seconds kNameLimit{3};
constexpr size_t kMaxPages = 1000;

ExitCode unavailable(const CommandContext& around, const std::string& text, const std::string& where,
                     const std::string& fix) {
  around.err << "error: " << text << "\n";
  if (!where.empty()) around.err << "  where  " << where << "\n";
  around.err << "  fix    " << fix << "\n";
  return ExitCode::unavailable;
}

}  // namespace

void add_gateway_flags(CLI::App& command, GatewayFlags& flags) {
  command.add_option("--admin", flags.admin, "The gateway's control socket; else the only one that runs")
      ->type_name("unix:/PATH");
  command.add_option("--format", flags.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  command.add_option("--color", flags.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

Style style_of(const GatewayFlags& flags, const CommandContext& around) {
  Style style;
  const bool terminal = around.out_is_terminal();
  style.colour = around.wants_colour(flags.color, terminal);
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return style;
}

std::string address_of(const GatewayFlags& flags, const CommandContext& around) {
  return flags.admin.empty() ? around.variable("LINEWARD_ADMIN_ADDRESS") : flags.admin;
}

std::variant<std::string, ExitCode> choose_gateway(const GatewayFlags& flags, const CommandContext& around) {
  Found found = find_gateway(address_of(flags, around));
  if (!found.fault.empty()) return bad_usage(around.err, found.fault, "lineward ps --help");
  if (!found.socket.empty()) return found.socket;
  if (found.several.empty()) {
    return unavailable(around, "no running gateway of this user was found",
                       fmt::format("looked in {}", fmt::join(admin::socket_directories(), ", ")),
                       "start one: lineward run -- COMMAND; or name its socket: --admin unix:/path");
  }
  around.err << fmt::format("error: {} gateways are running; name one of them\n", found.several.size());
  for (const std::string& socket : found.several) {
    auto reply = ask(socket, "/api/v1/status", {}, kNameLimit);
    std::string what =
        reply && reply->status == 200 ? text_of(reply->body, "url") : std::string("does not answer");
    around.err << fmt::format("  --admin unix:{}   {}\n", socket, what);
  }
  return ExitCode::usage;
}

ExitCode failed(const CommandContext& around, const std::string& socket, const std::string& why) {
  return unavailable(around, why, "the control socket " + socket,
                     "is it running, and yours? lineward ps --admin unix:/path names another");
}

ExitCode refused(const CommandContext& around, const std::string& socket, std::string_view path,
                 const ControlReply& reply) {
  if (reply.status == 404 || reply.status == 405) {
    return unavailable(
        around, fmt::format("the gateway at {} does not know {}", socket, path.substr(0, path.find('?'))), {},
        "it is older than this command: restart it with this version of lineward");
  }
  const std::string why = text_of(reply.body, "error");
  if (reply.status == 403) {
    around.err << "error: " << (why.empty() ? "the gateway refuses it" : why) << "\n";
    return ExitCode::no_permission;
  }
  return failed(around, socket, why.empty() ? fmt::format("{} answered {}", socket, reply.status) : why);
}

namespace {

Result<ControlReply> ask_pages_once(const std::string& socket, const std::string& path, const char* list) {
  auto whole = ask(socket, path);
  if (!whole || whole->status != 200) return whole;
  if (!whole->body[list].is_array()) whole->body[list] = json::array();
  std::string next = text_of(whole->body, "next");
  whole->body.erase("next");
  for (size_t page = 1; !next.empty() && page < kMaxPages; ++page) {
    const char* glue = path.find('?') == std::string::npos ? "?" : "&";
    auto more = ask(socket, fmt::format("{}{}after={}", path, glue, next));
    if (!more || more->status != 200) return more;
    for (json& one : more->body[list])
      whole->body[list].push_back(std::move(one));
    next = text_of(more->body, "next");
  }
  return whole;
}

}  // namespace

Result<ControlReply> ask_pages(const std::string& socket, const std::string& path, const char* list) {
  // A reload between two pages may have removed the cursor's item.
  constexpr int kTries = 3;
  constexpr int kBadRequest = 400;
  for (int tries = 1;; ++tries) {
    auto whole = ask_pages_once(socket, path, list);
    const bool again = whole && whole->status == kBadRequest && tries < kTries;
    if (!again) return whole;
  }
}

}  // namespace lineward::cli
