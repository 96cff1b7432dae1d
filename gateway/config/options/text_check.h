// Checks a configuration's bytes before they reach the YAML parser.
#pragma once

#include <string>
#include <string_view>

namespace lineward::config {

struct TextFault {
  std::string code;  // empty: valid
  std::string message;
  int line = 0;
  int column = 0;
};

// UTF-8 without control characters: the YAML library stops silently at either.
TextFault check_text(std::string_view text);
// Length in bytes of the UTF-8 character at the start of `text`, or 0 if it is invalid.
size_t utf8_length(std::string_view text);

}  // namespace lineward::config
