// `lineward audit verify FILE…`: verifies audit logs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "operate/cli/command_context.h"
#include "operate/cli/exit_codes.h"

namespace lineward::cli {

struct AuditFlags {
  std::vector<std::string> words;  // verify, then the files
  std::vector<std::string> keys;
  std::string known;  // SEQ:HASH
  std::string format;
  bool closed = false;
};

void add_audit(CLI::App& app, AuditFlags& flags);
// 0: intact; 1: not intact, with the first invalid record; 69: a file cannot be read.
ExitCode run_audit(const AuditFlags& flags, const CommandContext& around);

}  // namespace lineward::cli
