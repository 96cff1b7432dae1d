// `lineward doctor`: checks the configuration, this machine and each server, and reports problems with fixes.
#pragma once

#include <string>

#include "operate/cli/command_context.h"
#include "operate/cli/exit_codes.h"
#include "operate/cli/flags.h"
#include "operate/doctor/finding.h"

namespace CLI {
class App;
}

namespace lineward::cli {

struct DoctorFlags {
  Flags server;
  std::string patience = "20s";
  std::string cancel;  // --try-cancel: TOOL, or TOOL {…}
  std::string idle = "20s";
  std::string format;
};

void add_doctor(CLI::App& app, DoctorFlags& flags);
// `failure` if there is a problem.
ExitCode run_doctor(DoctorFlags flags, const CommandContext& around);

// The printed form of a finding; pure.
std::string finding_text(const doctor::Finding& finding, bool colour);

}  // namespace lineward::cli
