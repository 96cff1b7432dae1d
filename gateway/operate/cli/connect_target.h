// The target of `lineward tools` and `lineward call`: a URL, a command, a server of a file, or the running
// gateway. It becomes the configuration of a private gateway in front of it.
#pragma once

#include <string>
#include <variant>

#include "config/config.h"
#include "operate/cli/command_context.h"
#include "operate/cli/exit_codes.h"
#include "operate/cli/flags.h"

namespace CLI {
class App;
}

namespace lineward::cli {

struct TargetFlags {
  Flags server;            // of the target server
  std::string admin;       // the running gateway's control socket
  std::string token_file;  // a bearer token for a URL or the running gateway
};

void add_target(CLI::App& command, TargetFlags& flags);

// The running gateway's server name within the private gateway of `lineward tools` and `call`.
inline constexpr const char* kRunningGateway = "running-gateway";

struct Target {
  config::Config config;       // serves on stdio
  std::string control_socket;  // of the running gateway; empty: another target
  bool logs = false;           // show the private gateway's log
  std::string upstream;        // the named server of the running gateway
  std::string where;           // for messages: "https://…", "npx …", "the gateway at http://…"
};
// An exit code if the error was printed.
std::variant<Target, ExitCode> find_target(TargetFlags flags, const CommandContext& around);

}  // namespace lineward::cli
