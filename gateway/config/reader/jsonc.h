// Converts JSON with comments to JSON that a YAML parser reads, without moving a character.
#pragma once

#include <string>
#include <string_view>

namespace lineward::config {

// Replaces comments and trailing commas by spaces, so that positions stay valid.
std::string without_json_comments(std::string_view text);

}  // namespace lineward::config
