// `lineward tools` and `lineward call`: a client of the running gateway, or of any URL or command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operate/cli/connect_target.h"
#include "operate/cli/gateway_process.h"

namespace lineward::cli {

struct ToolFlags {
  TargetFlags target;
  std::string named;               // for `tools`: a server of the running gateway, a URL or a file
  std::string tool;                // for `call`
  std::vector<std::string> words;  // k=v
  std::string json;                // --json
  std::string schema;              // --schema
  std::string format;              // text or json
  std::string output;              // --output
  bool progress = false;
};

void add_tools(CLI::App& app, ToolFlags& flags);
bool is_tool_command(std::string_view command);
ExitCode run_tool_command(std::string_view command, ToolFlags flags, const GatewayStarter& start,
                          std::string_view version, const CommandContext& around);

}  // namespace lineward::cli
