// What `lineward tools` and `lineward call` print: text for people from what a server said. Pure, so that
// tests can read it. Whatever a server said is made harmless here, for one line each.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/control_text.h"
#include "cli/exit_codes.h"
#include "mcp_client/client.h"

namespace lineward::cli {

// Each tool with its first line of description, its arguments and its hints.
std::string tools_text(const nlohmann::json& tools, const Style& style);
// The tool of that name, or null.
const nlohmann::json* find_tool(const nlohmann::json& tools, const std::string& name);
// "there is no tool 'ehco'; did you mean 'echo'?"
std::string no_such_tool(const nlohmann::json& tools, const std::string& name);

// A line for each server of whose tools some, or all, did not come.
std::string missing_notes(const std::vector<mcp_client::MissingPart>& missing);

// "[######----] 61/100 indexing  4.2s", at most `width` columns (0: no matter).
std::string progress_bar(const nlohmann::json& progress, std::chrono::milliseconds elapsed, size_t width);

// What the error of a call means to whoever made it.
struct CallFault {
  std::string message;  // the error's own, on one line
  std::string reason;   // of docs/errors.md; empty: the server's own error
  std::string server;   // as the gateway calls it
  std::string call_id;  // for lineward ps
  std::string fix;      // empty: nobody knows one
  ExitCode exit = ExitCode::failure;
};
CallFault fault_of(const nlohmann::json& error);

// One piece of a result that is no text: an image, a sound, a file.
struct Attachment {
  std::string kind;  // image, audio, resource
  std::string mime;
  std::string base64;
  std::string name;  // of the URI; may be empty
};
struct ResultParts {
  std::string text;                // as the tool said it, each piece ends with a line's end
  std::vector<std::string> notes;  // links, and what cannot be shown: one line each, harmless
  std::vector<Attachment> attachments;
  bool is_error = false;
};
ResultParts parts_of(const nlohmann::json& result);
// "png" for image/png; "bin" where nobody knows better.
std::string extension_of(const std::string& mime);
// Letters, digits, "." "_" "-"; never empty, never hidden, at most 60.
std::string file_stem(const std::string& name);

}  // namespace lineward::cli
