// `lineward tail`: live events of a running gateway.
#pragma once

#include <string>

#include "operate/cli/gateway_choice.h"

namespace lineward::cli {

struct TailFlags : GatewayFlags {
  std::string upstream;
  std::string types = "calls,servers";
  std::string retry = "1m";
  bool errors = false;
};

void add_tail(CLI::App& app, TailFlags& flags);
// Runs until it is interrupted, its reader closes, or a lost gateway does not return in time.
ExitCode tail(const TailFlags& flags, const CommandContext& around);

}  // namespace lineward::cli
