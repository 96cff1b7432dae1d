// Text in columns on a terminal: its width, cutting it, colouring it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace lineward::cli {

// Columns on a terminal: characters, near enough.
inline size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// `most` 0: as it is.
inline std::string cut(const std::string& text, size_t most) {
  if (width_of(text) <= most || most == 0) return text;
  std::string out;
  size_t columns = 0;
  for (char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && ++columns == most) break;
    out += c;
  }
  return out + "…";
}

// `code`: of ESC [ … m, "1;31".
inline std::string paint(std::string_view text, std::string_view code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

}  // namespace lineward::cli
