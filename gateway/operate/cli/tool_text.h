// The output of `lineward tools` and `lineward call`: text from a server's messages. Pure, so that tests can
// read it. Sanitizes server texts, one line each.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operate/cli/control_text.h"
#include "operate/cli/exit_codes.h"
#include "operate/mcp_client/client.h"

namespace lineward::cli {

// Each tool with the first line of its description, its arguments and hints.
std::string tools_text(const nlohmann::json& tools, const Style& style);
// The tool of that name, or null.
const nlohmann::json* find_tool(const nlohmann::json& tools, const std::string& name);
// "there is no tool 'ehco'; did you mean 'echo'?"
std::string no_such_tool(const nlohmann::json& tools, const std::string& name);

// A line for each server with missing tools.
std::string missing_notes(const std::vector<mcp_client::MissingPart>& missing);

// "[######----] 61/100 indexing  4.2s", at most `width` columns (0: unlimited).
std::string progress_bar(const nlohmann::json& progress, std::chrono::milliseconds elapsed, size_t width);

// The error of a call, as its user sees it.
struct ErrorReport {
  std::string message;  // the error's own message, on one line
  std::string reason;   // from docs/errors.md; empty: the server's own error
  std::string server;   // name used by the gateway
  std::string call_id;  // for lineward ps
  std::string fix;      // empty: unknown
  ExitCode exit = ExitCode::failure;
};
ErrorReport fault_of(const nlohmann::json& error);

// A non-text part of a result: an image, a sound, a file.
struct Attachment {
  std::string kind;  // image, audio, resource
  std::string mime;
  std::string base64;
  std::string name;  // from the URI; may be empty
};
struct ResultParts {
  std::string text;                // the tool's text; each part ends with a line end
  std::vector<std::string> notes;  // links and parts that cannot be shown: one sanitized line each
  std::vector<Attachment> attachments;
  bool is_error = false;
};
ResultParts parts_of(const nlohmann::json& result);
// "png" for image/png; "bin" if unknown.
std::string extension_of(const std::string& mime);
// Letters, digits, "." "_" "-"; never empty, never hidden, at most 60.
std::string file_stem(const std::string& name);

}  // namespace lineward::cli
