// `lineward server NAME start|stop|restart|drain`: shows the effect, asks for confirmation before ending
// calls, and optionally waits until it is done.
#pragma once

#include <chrono>
#include <string>

#include "operate/cli/gateway_choice.h"

namespace lineward::cli {

struct ServerAction {
  std::string name, action, reason;
  std::string origin;  // drain, start: of this one alone
  bool json = false;
  bool force = false;
  bool yes = false;   // no confirmation
  bool wait = false;  // until the server is ready, or has ended
  std::chrono::milliseconds limit{60000};
};

// Gets one server; or an exit code after the error was printed.
std::variant<nlohmann::json, ExitCode> look_at_server(const std::string& socket, const std::string& name,
                                                      const CommandContext& around);
ExitCode act_on_server(const std::string& socket, const ServerAction& wanted, const CommandContext& around);

}  // namespace lineward::cli
