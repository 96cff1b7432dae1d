// The one server that the command line itself may describe: a command behind `--`, or `--url` with its
// headers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "config/config.h"
#include "config/reader/load.h"

namespace lineward::cli {

// Empty, or which flag has no server it could belong to.
std::string misplaced_server_flag(const Flags& flags);

// Adds it to what is loaded, with the variables that its flags take from the environment; empty, or what is
// wrong. Values of -e and -H may be secrets: no message holds one.
std::string add_server_of_flags(const Flags& flags, config::LoadOptions& load);

bool names_url(std::string_view word);
// Without what may be a secret in it, for a message.
std::string url_to_show(std::string_view url);

// On stdio there is no path to tell servers apart: leaves the one called `name`, the only one, or
// all of them, to be served as one. Empty, or
// what is wrong.
std::string choose_server(const std::string& name, config::Config& config);

}  // namespace lineward::cli
