// Text in terminal columns: width, truncation, padding, and tables. Expects text without control characters
// (log/printable.h). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::cli {

struct Style {
  bool colour = false;
  bool wide = false;  // no truncation
  size_t width = 0;   // of the terminal; 0: unknown
};

// Columns of the text: two for an ideograph or emoji, none for a combining mark.
size_t width_of(std::string_view text);
// At most `most` columns, the last one "…" if the text was truncated; 0: unchanged.
std::string cut(std::string_view text, size_t most);
// Padded with blanks.
std::string padded(std::string_view text, size_t columns);
// Truncated or padded to exactly `columns`.
std::string fitted(std::string_view text, size_t columns);
// `code` of SGR, such as "1" or "31". Without colour the text is unchanged.
std::string paint(std::string_view text, std::string_view code, bool colour);

// Rows with the same number of cells, the first is the header. Lines are truncated to the terminal's width,
// if it is known.
using Row = std::vector<std::string>;
std::string table(const std::vector<Row>& rows, const Style& style);

}  // namespace lineward::cli
