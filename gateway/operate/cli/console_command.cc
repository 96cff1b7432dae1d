#include "operate/cli/console_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <variant>
#include <vector>

#include "foundation/net/loop.h"
#include "foundation/net/signals.h"
#include "operate/cli/browser.h"
#include "operate/cli/console_bridge.h"
#include "operate/cli/control_client.h"
#include "operate/cli/gateway_choice.h"

namespace lineward::cli {
namespace {

constexpr const char* kConsoleFooter =
    "Prints a link that works once, for one browser, and opens it if stdout is a terminal on a machine\n"
    "with a screen. It reads the gateway's data from the control socket until Ctrl-C.\n"
    "\n"
    "Examples\n"
    "  lineward console\n"
    "  lineward console --no-open\n"
    "  lineward console --admin unix:/run/lineward/4711.sock";

// The gateway's current socket: a restarted gateway has a new one.
std::string current_socket(std::string& known, const std::string& address) {
  if (access(known.c_str(), F_OK) == 0) return known;
  const Found found = find_gateway(address);
  if (!found.socket.empty()) known = found.socket;
  return known;
}

}  // namespace

void add_console(CLI::App& app, ConsoleFlags& flags) {
  CLI::App* command = app.add_subcommand("console", "Shows a running gateway in the browser, live.");
  command->add_option("--admin", flags.admin, "The gateway's control socket; else the only one that runs")
      ->type_name("unix:/PATH");
  command->add_flag("--no-open", flags.no_open, "Only print the link");
  command->footer(kConsoleFooter);
}

ExitCode console(const ConsoleFlags& flags, const CommandContext& around) {
  GatewayFlags which;
  which.admin = flags.admin;
  auto chosen = choose_gateway(which, around);
  if (auto* code = std::get_if<ExitCode>(&chosen)) return *code;
  std::string socket = std::get<std::string>(chosen);
  const std::string address = flags.admin.empty() ? around.variable("LINEWARD_ADMIN_ADDRESS") : flags.admin;
  auto status = ask(socket, "/api/v1/status");
  if (!status || status->status != 200) {
    around.err << fmt::format("error: the gateway at {} does not answer{}\n", socket,
                              status ? "" : ": " + status.error().text);
    return ExitCode::unavailable;
  }
  net::Loop loop;
  ExitCode code = ExitCode::ok;
  {
    Browser browser;
    ConsoleBridge bridge(
        loop, [&] { return current_socket(socket, address); },
        [&] {
          browser.forget();
          around.err << "The link has been used; it is dead now.\n";
        });
    auto listening = bridge.listen();
    if (!listening) {
      around.err << fmt::format("error: no port of 127.0.0.1 can be had: {}\n", listening.error().text);
      code = ExitCode::failure;
    } else {
      std::vector<std::unique_ptr<net::SignalWatch>> signals;
      for (int signal : {SIGINT, SIGTERM, SIGHUP})
        signals.push_back(std::make_unique<net::SignalWatch>(loop, signal, [&loop] { loop.stop(); }));
      around.out << bridge.link() << "\n";
      around.out.flush();
      around.err
          << "Open this link in your browser: it is good once. Ctrl-C ends the console, and nothing else.\n";
      if (!flags.no_open && around.out_is_terminal()) {
        const std::string display = around.variable("WAYLAND_DISPLAY") + around.variable("DISPLAY");
        auto opened = browser.open(bridge.link(), display);
        if (!opened) around.err << fmt::format("No browser was started: {}.\n", opened.error().text);
      }
      loop.run();
    }
  }
  loop.close_all();
  return code;
}

}  // namespace lineward::cli
