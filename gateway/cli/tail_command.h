// `lineward tail`: what happens in a running gateway, as it happens.
#pragma once

#include <string>

#include "cli/gateway_choice.h"

namespace lineward::cli {

struct TailFlags : GatewayFlags {
  std::string upstream;
  std::string types = "calls,servers";
  std::string retry = "1m";
  bool errors = false;
};

void add_tail(CLI::App& app, TailFlags& flags);
// Until it is interrupted, its reader has gone, or the gateway has gone and does not come back in time.
ExitCode tail(const TailFlags& flags, const Surroundings& around);

}  // namespace lineward::cli
