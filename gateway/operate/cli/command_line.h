// Parses argv into a loaded configuration to run, or into an exit code when the command is already done.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "config/reader/load.h"
#include "config/reader/variables.h"
#include "operate/cli/exit_codes.h"
#include "operate/cli/gateway_process.h"
#include "operate/cli/share_request.h"

namespace lineward::cli {

struct Invocation {
  enum class Command : uint8_t { none, run, validate, version };
  Command command = Command::none;
  std::string config_file;  // empty: the server came on the command line
  config::Config config;    // flags, environment, file and defaults merged
  // The configuration file and those that it includes, with their content.
  std::vector<std::pair<std::string, std::string>> files;
  config::ReadAgain load;  // reads the file again; empty where there is none
  bool exit_with_upstream = false;
  bool exit_with_parent = false;
  bool colour = false;  // on stderr
  bool quiet = false;
  std::optional<ShareRequest> share;  // serve this client by a gateway that others share
};

// Prints help, reports and errors itself: data on `out`, messages on `err`. Only `run` returns work to do.
// `start` makes the gateway for client commands; without it these commands do not exist.
std::variant<Invocation, ExitCode> parse_command_line(int argc, const char* const* argv,
                                                      std::string_view version, const config::EnvLookup& env,
                                                      std::ostream& out, std::ostream& err,
                                                      const GatewayStarter& start = {});

}  // namespace lineward::cli
