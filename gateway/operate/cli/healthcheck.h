// `lineward healthcheck`: checks liveness or readiness at the ops listener of a running gateway. For
// HEALTHCHECK in containers without a shell or curl. Blocking, bounded in time.
#pragma once

#include <string>

#include "operate/cli/exit_codes.h"
#include "operate/cli/prepare.h"

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
// ok for status 200, `failure` for any other status, `unavailable` without an answer.
ExitCode healthcheck(const HealthcheckFlags& flags, const CommandContext& around);

}  // namespace lineward::cli
