// `lineward audit verify FILE…`: are these audit logs as they were written?
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/surroundings.h"

namespace lineward::cli {

struct AuditFlags {
  std::vector<std::string> words;  // verify, then the files
  std::vector<std::string> keys;
  std::string known;  // SEQ:HASH
  std::string format;
  bool closed = false;
};

void add_audit(CLI::App& app, AuditFlags& flags);
// 0: they are whole; 1: they are not, and the first record that is wrong is named; 69: one cannot be read.
ExitCode run_audit(const AuditFlags& flags, const Surroundings& around);

}  // namespace lineward::cli
