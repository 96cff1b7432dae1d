// An HTTP server, asked once: name, address, proxy, TLS, status, era, clock. Blocking, with an end to each.
#pragma once

#include <chrono>

#include "config/config.h"
#include "doctor/finding.h"

namespace lineward::doctor {

void check_http_server(const config::Server& server, std::chrono::milliseconds patience, Findings& findings);

// Seconds that a server's `Date` (RFC 9110 5.6.7) is ahead of `now` (seconds since 1970); 0 when it is none.
int64_t clock_skew(const std::string& date, int64_t now);

}  // namespace lineward::doctor
