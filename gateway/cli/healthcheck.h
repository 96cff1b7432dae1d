// `lineward healthcheck`: asks the ops listener of a running gateway whether it lives, or is ready; for
// HEALTHCHECK of containers that have neither a shell nor curl. Blocking, bounded in time.
#pragma once

#include <string>

#include "cli/exit_codes.h"
#include "cli/prepare.h"

namespace CLI {
class App;
}

namespace lineward::cli {

struct HealthcheckFlags {
  std::string ops;  // empty: LINEWARD_OPS_ADDRESS, else the default port
  std::string timeout = "5s";
  bool live = false;
};

void add_healthcheck(CLI::App& app, HealthcheckFlags& flags);
// ok when it answers 200, `failure` when it answers something else, `unavailable` when nobody does.
ExitCode healthcheck(const HealthcheckFlags& flags, const Surroundings& around);

}  // namespace lineward::cli
