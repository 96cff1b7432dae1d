// A tool call from the command line, from its arguments to printing and saving its result.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operate/cli/command_context.h"
#include "operate/cli/exit_codes.h"
#include "operate/cli/mcp_conversation.h"

namespace lineward::cli {

enum class ShownProgress : unsigned char { none, bar, lines };
// A bar on a terminal, else none; `wanted` prints lines there.
ShownProgress progress_of(bool quiet, bool wanted, const CommandContext& around);

struct CallOptions {  // NOLINT(bugprone-exception-escape)
  std::string tool;
  nlohmann::json arguments;        // from --json
  std::vector<std::string> words;  // k=v
  bool raw = false;                // --format json
  std::string output;              // a folder; empty: save nothing
  ShownProgress progress = ShownProgress::none;
};

// The object of --json; "-" is stdin, empty text an empty object.
Result<nlohmann::json> given_arguments(const std::string& text);
Status<> usable_folder(const std::string& folder);

ExitCode call_tool(const CallOptions& options, McpConversation& talk, const CommandContext& around);
// Reports why there is no result, with a fix.
ExitCode report_no_answer(const mcp_client::Answer& answer, McpConversation& talk,
                          const CommandContext& around);

}  // namespace lineward::cli
