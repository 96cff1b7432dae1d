// Is there such a server, or path of several, in the gateway that was asked? A wrong name would look like a
// server at which nothing happens.
#pragma once

#include <optional>
#include <string>

#include "cli/gateway_choice.h"

namespace lineward::cli {

// Nothing where it is there; else an exit code after everything has been said.
std::optional<ExitCode> wrong_server(const std::string& socket, const std::string& name,
                                     const Surroundings& around);

}  // namespace lineward::cli
