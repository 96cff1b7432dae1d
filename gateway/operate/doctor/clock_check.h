// Compares another host's clock with this machine's: tokens are rejected if they differ.
#pragma once

#include <cstdint>
#include <string>

#include "operate/doctor/finding.h"

namespace lineward::doctor {

// Seconds that a server's `Date` (RFC 9110, section 5.6.7) is ahead of `now` (seconds since 1970); 0 if it is
// invalid.
int64_t clock_skew(const std::string& date, int64_t now);

// `date`: of an answer just received; `whose`: "its clock", "the issuer's clock".
void check_clock(const std::string& date, const std::string& whose, Findings& findings);

}  // namespace lineward::doctor
