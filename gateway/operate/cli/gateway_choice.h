// Selects the running gateway for a command, and reports its absence or refusals.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "operate/cli/cells.h"
#include "operate/cli/command_context.h"
#include "operate/cli/control_client.h"
#include "operate/cli/exit_codes.h"

namespace CLI {
class App;
}

namespace lineward::cli {

struct GatewayFlags {
  std::string admin, color = "auto", format;
  bool json() const { return format == "json"; }
};

// --admin, --format and --color.
void add_gateway_flags(CLI::App& command, GatewayFlags& flags);

// The style for stdout.
Style style_of(const GatewayFlags& flags, const CommandContext& around);

// --admin, or LINEWARD_ADMIN_ADDRESS; empty: any running gateway.
std::string address_of(const GatewayFlags& flags, const CommandContext& around);
// The gateway's socket, or an exit code after the error was printed.
std::variant<std::string, ExitCode> choose_gateway(const GatewayFlags& flags, const CommandContext& around);

// Reports that the request could not be sent.
ExitCode failed(const CommandContext& around, const std::string& socket, const std::string& why);
// Reports an error response; `path` is the request's path.
ExitCode refused(const CommandContext& around, const std::string& socket, std::string_view path,
                 const ControlReply& reply);

// All pages of a list as one answer; `path` without `after`. At most a million elements.
Result<ControlReply> ask_pages(const std::string& socket, const std::string& path, const char* list);

}  // namespace lineward::cli
