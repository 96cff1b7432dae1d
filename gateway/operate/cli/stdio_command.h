// `lineward stdio`, and the flags for HTTP servers shared with `run`.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "config/reader/variables.h"
#include "operate/cli/flags.h"

namespace lineward::cli {

CLI::App* add_stdio(CLI::App& app, Flags& flags);
// The start of a server's command given without --, which some clients remove. It is the first word that is
// not an option, if it is a program and neither a URL nor a file. `words` begin with "stdio".
std::optional<size_t> command_without_dashes(const CLI::App& app, const std::vector<std::string>& words,
                                             const config::EnvLookup& env);
// -H, for the server named by a URL.
void add_headers(CLI::App& app, Flags& flags);
// -e and --cwd, for the server behind --.
void add_server_command(CLI::App& app, Flags& flags);

}  // namespace lineward::cli
