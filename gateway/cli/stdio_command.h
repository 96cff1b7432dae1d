// `lineward stdio`, and the flags of HTTP servers that it shares with `run`.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "config/reader/variables.h"

namespace lineward::cli {

CLI::App* add_stdio(CLI::App& app, Flags& flags);
// Where a server's command begins that stands there without --, which some clients swallow: at the first word
// that is no option, when it is a program and neither a URL nor a file. `words` begin with "stdio".
std::optional<size_t> command_without_dashes(const CLI::App& app, const std::vector<std::string>& words,
                                             const config::EnvLookup& env);
// -H, for the server named by a URL.
void add_headers(CLI::App& app, Flags& flags);

}  // namespace lineward::cli
