#include "operate/config_formats/client_form.h"

#include <array>

namespace lineward::config_formats {
namespace {

constexpr size_t kForms = static_cast<size_t>(Form::count_);
constexpr std::array<std::string_view, kForms> kNames{"yaml",        "mcpservers", "vscode", "claude",
                                                      "claude-code", "cursor",     "gemini", "codex"};
constexpr std::array<std::string_view, kForms> kProducts{
    "Lineward", "a file with mcpServers", "VS Code", "Claude Desktop", "Claude Code", "Cursor", "Gemini CLI",
    "Codex"};

constexpr std::array<Traits, kForms> kTraits{{
    {Variables::all, true, true, "disabled", "allow", "deny", true, {}},
    {Variables::all, true, true, "disabled", {}, {}, false, {}},
    {Variables::inputs, true, true, {}, {}, {}, false, {}},
    {Variables::none, false, false, {}, {}, {}, false, {}},
    {Variables::shell_defaults, false, false, {}, {}, {}, false, "timeout"},
    {Variables::env, false, true, {}, {}, {}, false, {}},
    {Variables::shell_defaults, true, false, {}, "includeTools", "excludeTools", false, "timeout"},
    {Variables::none, true, false, "enabled", "enabled_tools", "disabled_tools", false, {}},
}};

}  // namespace

std::string_view name(Form form) {
  return kNames[static_cast<size_t>(form)];
}

std::string_view product(Form form) {
  return kProducts[static_cast<size_t>(form)];
}

std::optional<Form> form_named(std::string_view wanted) {
  for (size_t i = 0; i < kForms; ++i) {
    if (kNames[i] == wanted) return static_cast<Form>(i);
  }
  return std::nullopt;
}

std::string form_names() {
  std::string out;
  for (std::string_view one : kNames)
    out += (out.empty() ? "" : ", ") + std::string(one);
  return out;
}

const Traits& traits(Form form) {
  return kTraits[static_cast<size_t>(form)];
}

}  // namespace lineward::config_formats
