// Checks a command before it is started: its location, and whether it can run here. Read-only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "operate/doctor/finding.h"

namespace lineward::doctor {

// The value of NAME in "NAME=value" entries, or empty.
std::string variable_of(const std::vector<std::string>& environment, const std::string& name);
// The file that a command denotes in that PATH; empty: no executable one.
std::string found_in(const std::string& command, const std::string& path);
// Common locations of programs outside of PATH.
std::vector<std::string> usual_places(const std::string& command, const std::string& home);

// The fault in a program's first bytes, with its fix; nullopt: it may run. `machine`: from uname.
std::optional<Finding> head_fault(const std::string& bytes, const std::string& file,
                                  const std::string& machine);

// Checks the command and working directory. Returns the file, or empty if it cannot run; errors go to
// `findings`.
std::string check_program(const config::Server& server, const std::vector<std::string>& environment,
                          Findings& findings);

}  // namespace lineward::doctor
