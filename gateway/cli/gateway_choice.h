// Which running gateway a command is for, and what is said when there is none, or when it refuses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/cells.h"
#include "cli/control_client.h"
#include "cli/exit_codes.h"
#include "cli/surroundings.h"

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

// Of what goes to stdout.
Style style_of(const GatewayFlags& flags, const Surroundings& around);

// --admin, or LINEWARD_ADMIN_ADDRESS; empty: whichever runs.
std::string address_of(const GatewayFlags& flags, const Surroundings& around);
// The socket to ask, or an exit code after everything has been said.
std::variant<std::string, ExitCode> choose_gateway(const GatewayFlags& flags, const Surroundings& around);

// It could not be asked.
ExitCode failed(const Surroundings& around, const std::string& socket, const std::string& why);
// It answers, and says no; `path` is what it was asked for.
ExitCode refused(const Surroundings& around, const std::string& socket, std::string_view path,
                 const ControlReply& reply);

// All pages of a list, as one answer; `path` without `after`. At most a million elements.
Result<ControlReply> ask_pages(const std::string& socket, const std::string& path, const char* list);

}  // namespace lineward::cli
