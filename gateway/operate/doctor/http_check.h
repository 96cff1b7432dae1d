// Checks an HTTP server with one request: name, address, proxy, TLS, status, era, clock. Blocking, with a
// time limit for each step.
#pragma once

#include <chrono>

#include "config/config.h"
#include "operate/doctor/finding.h"

namespace lineward::doctor {

void check_http_server(const config::Server& server, std::chrono::milliseconds patience, Findings& findings);

}  // namespace lineward::doctor
