// The server described by the command line: a command behind `--`, or `--url` with its headers.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"
#include "config/reader/load.h"
#include "operate/cli/flags.h"

namespace lineward::cli {

// Empty, or the flag without a server that it could belong to.
std::string misplaced_server_flag(const Flags& flags);

// Adds the server to `load`, with the environment variables that its flags use; empty, or the error. Values
// of -e and -H may be secrets: no message contains one.
std::string add_server_of_flags(const Flags& flags, config::LoadOptions& load);

bool names_url(std::string_view word);
// The URL without possible secrets, for a message.
std::string url_to_show(std::string_view url);

// stdio has no paths to distinguish servers. Keeps the one called `name`, the only one, or all of them as an
// aggregate. Empty, or the error.
std::string choose_server(const std::string& name, config::Config& config);

}  // namespace lineward::cli
