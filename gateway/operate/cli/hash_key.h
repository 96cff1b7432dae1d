// `lineward hash-key NAME [SCOPE…]`: prints a line for the file of auth.apiKey.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "operate/cli/exit_codes.h"
#include "operate/cli/screen.h"

namespace lineward::cli {

struct HashKeyFlags {
  std::vector<std::string> words;  // the name and the scopes
  bool make = false;
};

void add_hash_key(CLI::App& app, HashKeyFlags& flags);
// Reads the key from `in`, or generates one and prints it to `err`, once.
ExitCode hash_key(const HashKeyFlags& flags, std::istream& in, Screen& out, Screen& err);

}  // namespace lineward::cli
