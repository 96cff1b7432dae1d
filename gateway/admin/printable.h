// What servers and clients say of themselves, made fit for a terminal: no control characters, no escapes, one
// line, and nothing that a redactor blacks out.
#pragma once

#include <string>
#include <string_view>

#include "base/redaction.h"

namespace lineward::admin {

inline std::string printable(std::string_view text, size_t most = 200) {
  std::string clean, out;
  if (redaction::active()) text = clean = redaction::apply(text);
  bool cut = text.size() > most;
  if (cut) {
    text = text.substr(0, most);
    // Not through the middle of a character.
    size_t end = text.size();
    while (end > 0 && (static_cast<unsigned char>(text[end - 1]) & 0xc0) == 0x80)
      --end;
    if (end > 0 && static_cast<unsigned char>(text[end - 1]) >= 0xc0) --end;
    text = text.substr(0, end);
  }
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    // C1 controls and the direction marks U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069 are as bad as
    // escapes.
    auto next = [&](size_t ahead) {
      return i + ahead < text.size() ? static_cast<unsigned char>(text[i + ahead]) : 0u;
    };
    bool c1 = c == 0xc2 && next(1) >= 0x80 && next(1) < 0xa0;
    bool mark =
        c == 0xe2 &&
        ((next(1) == 0x80 && (next(2) == 0x8e || next(2) == 0x8f || (next(2) >= 0xa8 && next(2) <= 0xae))) ||
         (next(1) == 0x81 && next(2) >= 0xa6 && next(2) <= 0xa9));
    if (c1 || mark) {
      out += '?';
      i += c1 ? 1 : 2;
      continue;
    }
    out += c < 0x20 || c == 0x7f ? '?' : static_cast<char>(c);
  }
  return cut ? out + "…" : out;
}

}  // namespace lineward::admin
