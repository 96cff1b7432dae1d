// `lineward servers`, `server`, `sessions` and `subs`: lists servers, sessions and listens of a running
// gateway, starts and stops servers, and adds them to its configuration.
#pragma once

#include <string>
#include <string_view>

#include "operate/cli/gateway_choice.h"
#include "operate/cli/server_edit.h"

namespace lineward::cli {

struct ListFlags : GatewayFlags {
  std::string upstream;
  bool wide = false;
  std::string name, action;  // server NAME ACTION, or server add NAME and the like
  ServerEdit edit;
  std::string reason, origin;
  std::string timeout = "60s";
  bool force = false;
  bool yes = false;
  bool wait = false;
};

void add_lists(CLI::App& app, ListFlags& flags);
bool is_list(std::string_view command);
ExitCode run_list(std::string_view command, const ListFlags& flags, const CommandContext& around);

}  // namespace lineward::cli
