// A command before it is started: where it is found, and whether what is there can run here. Only reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "doctor/finding.h"

namespace lineward::doctor {

// The value of NAME in "NAME=value" entries, or empty.
std::string variable_of(const std::vector<std::string>& environment, const std::string& name);
// The file that a command of that PATH means; empty: there is none that can be executed.
std::string found_in(const std::string& command, const std::string& path);
// Places outside of PATH where programs often are.
std::vector<std::string> usual_places(const std::string& command, const std::string& home);

// What is wrong with the bytes that a program begins with; nothing: it may run. `machine`: as uname says it.
struct HeadFault {
  std::string text, fix;
};
std::optional<HeadFault> head_fault(const std::string& bytes, const std::string& file,
                                    const std::string& machine);

// Command and working directory. The file, or empty when it cannot run; what was found is in `findings`.
std::string check_program(const config::Server& server, const std::vector<std::string>& environment,
                          Findings& findings);

}  // namespace lineward::doctor
