// Splits a command given as a single text, and derives a server's name from its command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::cli {

// Splits at blanks and quotes like a shell, without expansion and without running a shell.
Result<std::vector<std::string>> split_words(std::string_view text);

// "npx -y @modelcontextprotocol/server-everything@2" → "everything"; always a valid server name.
std::string name_from_command(const std::vector<std::string>& words);

// "https://mcp.example.com/mcp" → "example"; "server" if the host has no usable name. The path may hold
// secrets.
std::string name_from_url(std::string_view url);

}  // namespace lineward::cli
