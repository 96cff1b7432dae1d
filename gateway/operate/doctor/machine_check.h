// Checks the machine's resources for the gateway: ports, descriptors, socket directories.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "operate/doctor/finding.h"

namespace lineward::doctor {

// A running gateway with its address.
struct RunningGateway {
  std::string address;  // host:port, or unix:/path
  int64_t pid = 0;
};
void check_machine(const config::Config& config, const std::vector<RunningGateway>& gateways,
                   Findings& findings);

}  // namespace lineward::doctor
