// Whom `lineward tools` and `lineward call` talk to: a URL, a command, a server of a file, or the gateway
// that is running; as the configuration of a gateway that stands in front of it for this one client.
#pragma once

#include <string>
#include <variant>

#include "cli/exit_codes.h"
#include "cli/flags.h"
#include "cli/surroundings.h"
#include "config/config.h"

namespace CLI {
class App;
}

namespace lineward::cli {

struct TargetFlags {
  Flags server;            // of the one that is talked to
  std::string admin;       // the running gateway's control socket
  std::string token_file;  // a bearer token for a URL or the running gateway
};

void add_target(CLI::App& command, TargetFlags& flags);

// What the gateway of `lineward tools` and `call` calls the running one.
inline constexpr const char* kRunningGateway = "running-gateway";

struct Target {
  config::Config config;       // serves on stdio
  std::string control_socket;  // of the running gateway; empty: another server is meant
  bool logs = false;           // its gateway's log is to be seen
  std::string upstream;        // of the running gateway, where it was named
  std::string where;           // for messages: "https://…", "npx …", "the gateway at http://…"
};
// Everything that is wrong has been said when it is an exit code.
std::variant<Target, ExitCode> find_target(TargetFlags flags, const Surroundings& around);

}  // namespace lineward::cli
