// JSON as editors write it, made readable for a YAML parser without moving a character.
#pragma once

#include <string>
#include <string_view>

namespace lineward::config {

// Comments and trailing commas become spaces, so that every position stays true.
std::string without_json_comments(std::string_view text);

}  // namespace lineward::config
