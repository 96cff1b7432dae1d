// Checks a stdio server by starting it once or twice for a moment: its answers and its exit.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "config/config.h"
#include "operate/doctor/finding.h"

namespace lineward::doctor {

struct Trial {                                // NOLINT(bugprone-exception-escape)
  std::chrono::milliseconds patience{20000};  // for each answer
  std::string tool;                           // tool to call and cancel; empty: no cancel is tried
  nlohmann::json arguments = nlohmann::json::object();
  bool alone = true;  // no other server is checked that might have the tool
};

// `own`: this process's environment, like the global `environ`.
void check_stdio_server(const config::Server& server, const Trial& trial, const char* const* own,
                        Findings& findings);

}  // namespace lineward::doctor
