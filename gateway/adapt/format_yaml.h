// A configuration in YAML with its members in the order of the table of options. Lines are moved as they are,
// with the comments that stand above them; nothing else changes but blanks at the ends of lines and empty
// lines.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lineward::adapt {

// The error says what is wrong and where. Applied to its own result it changes nothing.
Result<std::string> format_yaml(std::string_view text, const std::string& name);

// What differs, line by line: "-" before what was, "+" before what is; empty where nothing does.
std::string line_diff(std::string_view before, std::string_view after);

}  // namespace lineward::adapt
