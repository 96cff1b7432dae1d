// Whether somebody else's clock is this machine's: tokens are refused where they differ.
#pragma once

#include <cstdint>
#include <string>

#include "doctor/finding.h"

namespace lineward::doctor {

// Seconds that a server's `Date` (RFC 9110 5.6.7) is ahead of `now` (seconds since 1970); 0 when it is none.
int64_t clock_skew(const std::string& date, int64_t now);

// `date`: of an answer that has just come; `whose`: "its clock", "the issuer's clock".
void check_clock(const std::string& date, const std::string& whose, Findings& findings);

}  // namespace lineward::doctor
