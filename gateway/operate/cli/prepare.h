// Implements `run` and `validate`: aliases, the search for a configuration, loading, and error reports.
#pragma once

#include <string>
#include <variant>

#include "operate/cli/command_context.h"
#include "operate/cli/command_line.h"
#include "operate/cli/flags.h"

namespace lineward::cli {

std::variant<Invocation, ExitCode> prepare_run(Flags flags, const CommandContext& around);
// `stdio URL`, `stdio FILE`, `stdio -- COMMAND`: run --listen stdio.
std::variant<Invocation, ExitCode> prepare_stdio(Flags flags, const CommandContext& around);
ExitCode validate(const Flags& flags, const CommandContext& around);

// The file named by FILE, --config, LINEWARD_CONFIG or the search; empty: there is none.
std::string configuration_file(const Flags& flags, const CommandContext& around);

// searched_places(): "./lineward.yaml, …", where a configuration is searched if none is named. bad_usage():
// prints a command-line error with its help command; always ExitCode::usage.
std::string searched_places(const CommandContext& around);
ExitCode bad_usage(Screen& err, const std::string& message, const std::string& help_command);

}  // namespace lineward::cli
