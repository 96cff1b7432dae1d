// `lineward ps`, `cancel`, `status` and `reload`: flags and actions.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "operate/cli/gateway_choice.h"
#include "operate/cli/prepare.h"

namespace CLI {
class App;
}

namespace lineward::cli {

struct ControlFlags : GatewayFlags {
  std::vector<std::string> ids;
  std::string upstream, older, method, reason;
  bool all = false;
  bool wide = false;
  bool yes = false;
  bool dry_run = false;
};

// Adds the commands to the command line.
void add_control(CLI::App& app, ControlFlags& flags);
bool is_control(std::string_view command);
ExitCode run_control(std::string_view command, const ControlFlags& flags, const CommandContext& around);

// The control socket of the gateway named by `address` (--admin, may be empty); or an exit code after the
// error was printed.
std::variant<std::string, ExitCode> running_gateway(const std::string& address, const CommandContext& around);

}  // namespace lineward::cli
