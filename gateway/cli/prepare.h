// The work behind `run` and `validate`: aliases, the search for a configuration, loading it, and saying what
// is wrong.
#pragma once

#include <string>
#include <variant>

#include "cli/command_line.h"
#include "cli/flags.h"
#include "cli/surroundings.h"

namespace lineward::cli {

std::variant<Invocation, ExitCode> prepare_run(Flags flags, const Surroundings& around);
// `stdio URL`, `stdio FILE`, `stdio -- COMMAND`: run --listen stdio.
std::variant<Invocation, ExitCode> prepare_stdio(Flags flags, const Surroundings& around);
ExitCode validate(const Flags& flags, const Surroundings& around);

// The file that FILE, --config, LINEWARD_CONFIG or the search mean; empty: there is none.
std::string configuration_file(const Flags& flags, const Surroundings& around);

// One error of the command line with the way to its help; always ExitCode::usage.
// "./lineward.yaml, …": where a configuration is looked for that nobody names.
std::string searched_places(const Surroundings& around);
ExitCode bad_usage(Screen& err, const std::string& message, const std::string& help_command);

}  // namespace lineward::cli
