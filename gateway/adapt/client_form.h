// The files in which MCP servers are named: Lineward's own, and those of clients. What each of them can say.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::adapt {

enum class Form : uint8_t { yaml, mcp_servers, vscode, claude, claude_code, cursor, gemini, codex, count_ };

// As it is written behind --from and --to.
std::string_view name(Form form);
std::optional<Form> form_named(std::string_view name);
// "yaml, mcpservers, …"
std::string form_names();
// For people: "Claude Desktop".
std::string_view product(Form form);

// What may stand in a value there.
enum class Variables : uint8_t {
  all,             // as Lineward: ${env:N}, ${N:-default}, ${file:…}, ${input:…}
  env,             // ${env:N}
  inputs,          // that, and ${input:…}
  shell_defaults,  // ${N} and ${N:-default}
  none
};

// Which words a form has. Empty or `none`: it has none for that.
struct Traits {
  Variables variables = Variables::all;
  bool cwd = true;
  bool env_file = false;
  std::string_view disabled;  // "disabled", or "enabled", which says the contrary
  std::string_view allow, deny;
  bool globs = false;        // in those
  std::string_view timeout;  // a number of milliseconds, the whole of a call
};
const Traits& traits(Form form);

// Claude Code takes no notice of a timeout below this.
constexpr std::chrono::milliseconds kClaudeCodeLeast{1000};

}  // namespace lineward::adapt
