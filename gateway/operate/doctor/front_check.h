// Tests the proxies in front of a Lineward with `lineward/probe` (protocol/mcp/probe.h). It finds whether
// leaves arrive, how late events are, which idle timeout cuts a quiet stream, which parts of the head and
// which body pass. Blocking, with an end to each part.
#pragma once

#include <chrono>

#include "config/config.h"
#include "operate/doctor/finding.h"

namespace lineward::doctor {

struct FrontTrial {
  std::chrono::milliseconds patience{20000};  // for each answer
  std::chrono::milliseconds idle{20000};      // how long quiet streams are; 0: that is left out
};

// `server`: its url, headers and proxy. If no Lineward that knows the method answers, that is the finding.
void check_front(const config::Server& server, const FrontTrial& trial, Findings& findings);

}  // namespace lineward::doctor
