// A hook's answer to a message (docs/plugins.md, "hook").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/mcp/message.h"
#include "proxy/plugin/plugin.h"

namespace lineward::plugins {

struct HookAnswer {
  enum class Kind : uint8_t { proceed, refuse, answer, drop } kind = Kind::proceed;
  std::optional<mcp::Message> message;  // replaces the message it saw
  core::PolicyError refusal;
  std::string result;
  std::vector<std::pair<std::string, std::string>> headers;  // for the server; checked
};

// `text` is valid JSON. The error continues after the hook's name.
Result<HookAnswer> read_hook_answer(std::string_view text);

}  // namespace lineward::plugins
