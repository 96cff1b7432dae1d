// What must hold before the bytes of a configuration reach the YAML parser.
#pragma once

#include <string>
#include <string_view>

namespace lineward::config {

struct TextFault {
  std::string code;  // empty: fine
  std::string message;
  int line = 0;
  int column = 0;
};

// UTF-8 without control characters: the YAML library stops silently at either.
TextFault check_text(std::string_view text);
// Bytes of the UTF-8 character at the start of `text`, or 0 if there is none.
size_t utf8_length(std::string_view text);

}  // namespace lineward::config
