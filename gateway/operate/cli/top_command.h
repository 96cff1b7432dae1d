// `lineward top`: a self-refreshing screen of a running gateway's calls in flight.
#pragma once

#include <string>

#include "operate/cli/gateway_choice.h"

namespace lineward::cli {

struct TopFlags : GatewayFlags {
  std::string interval = "1s";
};

void add_top(CLI::App& app, TopFlags& flags);
// Runs until a key or signal ends it; without a terminal it prints one screen.
ExitCode top(const TopFlags& flags, const CommandContext& around);

}  // namespace lineward::cli
