// An HTTP server, asked once: name, address, proxy, TLS, status, era, clock. Blocking, with an end to each.
#pragma once

#include <chrono>

#include "config/config.h"
#include "doctor/finding.h"

namespace lineward::doctor {

void check_http_server(const config::Server& server, std::chrono::milliseconds patience, Findings& findings);

}  // namespace lineward::doctor
