// Parses argv into a loaded configuration to run, or into an exit code when the command is already done.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <map>
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

namespace lineward::cli {

// `lineward stdio --share`: what the command line and its configuration were made of. Two clients share a
// gateway only if it is equal (operate/share/share_key.h). Secrets among it: for a digest alone.
struct ShareRequest {
  std::chrono::milliseconds linger{0};
  std::vector<std::pair<std::string, std::string>> words;       // flags and the command
  std::vector<std::pair<std::string, std::string>> files;       // path and content
  std::vector<std::string> named;                               // paths of files that options of plugins name
  std::map<std::string, std::optional<std::string>> looked_up;  // variables of the environment
};

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
