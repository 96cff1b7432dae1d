// Checks that a server, or an aggregate's path, exists in the gateway. A misspelt name would look like an
// idle server.
#pragma once

#include <optional>
#include <string>

#include "operate/cli/gateway_choice.h"

namespace lineward::cli {

// nullopt if it exists; else an exit code after the error was printed.
std::optional<ExitCode> wrong_server(const std::string& socket, const std::string& name,
                                     const CommandContext& around);

}  // namespace lineward::cli
