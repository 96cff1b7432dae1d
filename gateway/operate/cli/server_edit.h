// `lineward server add | remove | enable | disable | list`: changes the servers of a configuration by a file
// of its own (config/reader/include.h), never a file of the user, and lets a running gateway read it.
//
// A change is checked before it is written, and taken back if the gateway rejects it. The file is replaced by
// a rename and keeps its owner and mode. Commands that run at once wait for each other.
#pragma once

#include <string>
#include <string_view>

#include "operate/cli/flags.h"
#include "operate/cli/gateway_choice.h"

namespace lineward::cli {

struct ServerEdit {
  std::string action, name;
  Flags server;        // --url, -H, -e, --cwd and the words behind --
  std::string config;  // --config; empty: that of the running gateway, else as `run` finds one
};

bool is_server_edit(std::string_view word);
// Empty, or the error in the arguments.
std::string fault_of(const ServerEdit& edit);
ExitCode edit_servers(const ServerEdit& edit, const GatewayFlags& gateway, const CommandContext& around);

}  // namespace lineward::cli
