// The file formats for MCP servers, Lineward's and those of clients, and the features of each.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::config_formats {

enum class Form : uint8_t { yaml, mcp_servers, vscode, claude, claude_code, cursor, gemini, codex, count_ };

// The name for --from and --to.
std::string_view name(Form form);
std::optional<Form> form_named(std::string_view name);
// "yaml, mcpservers, …"
std::string form_names();
// Product name: "Claude Desktop".
std::string_view product(Form form);

// Variables allowed in a value.
enum class Variables : uint8_t {
  all,             // Lineward's: ${env:N}, ${N:-default}, ${file:…}, ${input:…}
  env,             // ${env:N}
  inputs,          // ${env:N} and ${input:…}
  shell_defaults,  // ${N} and ${N:-default}
  none
};

// The option names of a form. Empty or `none`: not supported.
struct Traits {
  Variables variables = Variables::all;
  bool cwd = true;
  bool env_file = false;
  std::string_view disabled;  // "disabled", or "enabled" with the opposite meaning
  std::string_view allow, deny;
  bool globs = false;        // allow and deny take globs
  std::string_view timeout;  // milliseconds for a whole call
};
const Traits& traits(Form form);

// Claude Code ignores a timeout below this.
constexpr std::chrono::milliseconds kClaudeCodeLeast{1000};

}  // namespace lineward::config_formats
