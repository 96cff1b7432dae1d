// Sorts the members of a YAML configuration in the order of the option table. Lines are moved unchanged, with
// the comments above them; only trailing blanks and empty lines change.
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace lineward::config_formats {

// The error has the problem and its position. Idempotent.
Result<std::string> format_yaml(std::string_view text, const std::string& name);

// Line differences: "-" before removed lines, "+" before added ones; empty if there are none.
std::string line_diff(std::string_view before, std::string_view after);

}  // namespace lineward::config_formats
