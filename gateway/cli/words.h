// Words of a command: splitting one that was given as a single text, and naming a server after its command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lineward::cli {

// By blanks and quotes as a shell would, but nothing is expanded and no shell runs.
Result<std::vector<std::string>> split_words(std::string_view text);

// "npx -y @modelcontextprotocol/server-everything@2" → "everything"; always a valid server name.
std::string name_from_command(const std::vector<std::string>& words);

// "https://mcp.example.com/mcp" → "example"; "server" where the host says nothing. The path may hold secrets.
std::string name_from_url(std::string_view url);

}  // namespace lineward::cli
