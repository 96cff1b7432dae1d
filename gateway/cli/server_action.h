// `lineward server NAME start|stop|restart|drain`: says what it does to whom, asks before it ends calls, and
// waits until it is done where that is wanted.
#pragma once

#include <chrono>
#include <string>

#include "cli/gateway_choice.h"

namespace lineward::cli {

struct ServerAction {
  std::string name, action, reason;
  bool json = false;
  bool force = false;
  bool yes = false;   // nobody is asked
  bool wait = false;  // until the server is ready, or has ended
  std::chrono::milliseconds limit{60000};
};

// Looks at one server; an exit code after everything has been said.
std::variant<nlohmann::json, ExitCode> look_at_server(const std::string& socket, const std::string& name,
                                                      const Surroundings& around);
ExitCode act_on_server(const std::string& socket, const ServerAction& wanted, const Surroundings& around);

}  // namespace lineward::cli
