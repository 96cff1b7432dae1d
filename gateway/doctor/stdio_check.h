// A stdio server, looked at and started once or twice for a moment: what it says, how it ends.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "config/config.h"
#include "doctor/finding.h"

namespace lineward::doctor {

struct Trial {                                // NOLINT(bugprone-exception-escape)
  std::chrono::milliseconds patience{20000};  // for each answer
  std::string tool;                           // is called and cancelled; empty: no cancel is tried
  nlohmann::json arguments = nlohmann::json::object();
  bool alone = true;  // no other server is looked at, which may have it
};

// `own`: the environment of this process, as the global `environ`.
void check_stdio_server(const config::Server& server, const Trial& trial, const char* const* own,
                        Findings& findings);

}  // namespace lineward::doctor
