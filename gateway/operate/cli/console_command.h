// `lineward console`: the web console of a running gateway, in this user's browser, without a TCP admin port.
#pragma once

#include <string>

#include "operate/cli/command_context.h"
#include "operate/cli/exit_codes.h"

namespace CLI {
class App;
}

namespace lineward::cli {

struct ConsoleFlags {
  std::string admin;
  bool no_open = false;
};

void add_console(CLI::App& app, ConsoleFlags& flags);
// Runs until SIGINT, SIGTERM or SIGHUP.
ExitCode console(const ConsoleFlags& flags, const CommandContext& around);

}  // namespace lineward::cli
