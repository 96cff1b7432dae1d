#include "config/options/text_check.h"

#include <fmt/format.h>

namespace lineward::config {

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return 1;
  size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and code points beyond U+10FFFF.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

std::optional<Diagnostic> check_text(std::string_view text) {
  int line = 1, column = 1;
  while (!text.empty()) {
    size_t length = utf8_length(text);
    if (length == 0) {
      return Diagnostic{
          .code = "not-utf8", .message = "this is not UTF-8 text", .line = line, .column = column};
    }
    auto c = static_cast<unsigned char>(text[0]);
    bool printable = c >= 0x20 || c == '\n' || c == '\r' || c == '\t';
    // YAML ends a line at a lone CR, editors and reports do not. Positions would name the wrong line, and a
    // secret could be shown because its line was not detected.
    bool lone_return = c == '\r' && (text.size() < 2 || text[1] != '\n');
    if (!printable || lone_return || c == 0x7F) {
      return Diagnostic{.code = "control-character",
                        .message = fmt::format("a control character (0x{:02X}) does not belong here", c),
                        .line = line,
                        .column = column};
    }
    text.remove_prefix(length);
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return std::nullopt;
}

}  // namespace lineward::config
