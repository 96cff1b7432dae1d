// `lineward doctor`: looks at the configuration, this machine and each server, and says what is wrong and how
// to mend it.
#pragma once

#include <string>

#include "cli/exit_codes.h"
#include "cli/flags.h"
#include "cli/surroundings.h"
#include "doctor/finding.h"

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
// `failure` when something is wrong.
ExitCode run_doctor(DoctorFlags flags, const Surroundings& around);

// One finding as it is printed; pure.
std::string finding_text(const doctor::Finding& finding, bool colour);

}  // namespace lineward::cli
