// `lineward adapt`, `init` and `fmt`: convert and sort configuration files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "operate/cli/command_context.h"
#include "operate/cli/exit_codes.h"

namespace lineward::cli {

struct AdaptFlags {
  std::string file;
  std::string from = "auto", to = "yaml";
  std::string init_from;
  bool write = false, diff = false;
};

void add_adapt(CLI::App& app, AdaptFlags& flags);
bool is_adapt(std::string_view command);
// 0; 69: a file cannot be read or written; 78: a file cannot be parsed; 1: `fmt --diff` found a difference.
ExitCode run_adapt(std::string_view command, const AdaptFlags& flags, const CommandContext& around);

}  // namespace lineward::cli
