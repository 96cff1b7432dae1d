// What the gateway needs of this machine: ports, descriptors, directories of sockets.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "doctor/finding.h"

namespace lineward::doctor {

// `gateways`: addresses of those that run, with what to call each ("pid 12, its socket …").
struct RunningGateway {
  std::string address;  // host:port, or unix:/path
  int64_t pid = 0;
};
void check_machine(const config::Config& config, const std::vector<RunningGateway>& gateways,
                   Findings& findings);

}  // namespace lineward::doctor
