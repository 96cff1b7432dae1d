// `lineward stdio`, and the flags of HTTP servers that it shares with `run`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/flags.h"

namespace lineward::cli {

CLI::App* add_stdio(CLI::App& app, Flags& flags);
// -H, for the server named by a URL.
void add_headers(CLI::App& app, Flags& flags);

}  // namespace lineward::cli
