// The subset of TOML that Codex writes into config.toml: tables, arrays of tables, dotted and quoted keys,
// strings of all four kinds, numbers, booleans, arrays and inline tables. Dates are read as words.
#pragma once

#include <string>
#include <string_view>

#include "config/reader/document.h"
#include "foundation/base/result.h"

namespace lineward::config_formats {

// The error names the line, and quotes none of its text.
Result<config::Node> parse_toml(std::string_view text);
// A key and a string in TOML syntax.
std::string toml_key(std::string_view key);
std::string toml_string(std::string_view text);

}  // namespace lineward::config_formats
