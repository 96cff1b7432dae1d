// `lineward top`: the calls in flight of a running gateway, on a screen that refreshes itself.
#pragma once

#include <string>

#include "cli/gateway_choice.h"

namespace lineward::cli {

struct TopFlags : GatewayFlags {
  std::string interval = "1s";
};

void add_top(CLI::App& app, TopFlags& flags);
// Until it is ended by a key or a signal; where there is no terminal it prints one screen.
ExitCode top(const TopFlags& flags, const Surroundings& around);

}  // namespace lineward::cli
