// Implements `run` and `validate`: aliases, the search for a configuration, loading, and error reports.
#pragma once

#include <string>
#include <variant>

#include "operate/cli/command_line.h"
#include "operate/cli/flags.h"
#include "operate/cli/surroundings.h"

namespace lineward::cli {

std::variant<Invocation, ExitCode> prepare_run(Flags flags, const Surroundings& around);
// `stdio URL`, `stdio FILE`, `stdio -- COMMAND`: run --listen stdio.
std::variant<Invocation, ExitCode> prepare_stdio(Flags flags, const Surroundings& around);
ExitCode validate(const Flags& flags, const Surroundings& around);

// The file named by FILE, --config, LINEWARD_CONFIG or the search; empty: there is none.
std::string configuration_file(const Flags& flags, const Surroundings& around);

// searched_places(): "./lineward.yaml, …", where a configuration is searched if none is named. bad_usage():
// prints a command-line error with its help command; always ExitCode::usage.
std::string searched_places(const Surroundings& around);
ExitCode bad_usage(Screen& err, const std::string& message, const std::string& help_command);

}  // namespace lineward::cli
