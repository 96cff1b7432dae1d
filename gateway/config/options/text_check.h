// Checks a configuration's bytes before they reach the YAML parser.
#pragma once

#include <optional>
#include <string_view>

#include "config/diagnostic.h"

namespace lineward::config {

// UTF-8 without control characters: the YAML library stops silently at either.
std::optional<Diagnostic> check_text(std::string_view text);
// Length in bytes of the UTF-8 character at the start of `text`, or 0 if it is invalid.
size_t utf8_length(std::string_view text);

}  // namespace lineward::config
