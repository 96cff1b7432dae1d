// Text in the columns of a terminal: how wide it is, cut and filled up to a width, and tables of it. Expects
// text without control characters (log/printable.h). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::cli {

struct Style {
  bool colour = false;
  bool wide = false;  // nothing is cut
  size_t width = 0;   // of the terminal; 0: unknown
};

// Columns that it takes: an ideograph or an emoji two, a combining mark none.
size_t width_of(std::string_view text);
// At most so many columns, the last one "…" where something was cut off; 0: as it is.
std::string cut(std::string_view text, size_t most);
// Filled up with blanks.
std::string padded(std::string_view text, size_t columns);
// Both: exactly so many columns.
std::string fitted(std::string_view text, size_t columns);
// `code` of SGR, such as "1" or "31". Nothing where there is no colour.
std::string paint(std::string_view text, std::string_view code, bool colour);

// Rows of equally many cells, the first of them the head; lines are cut to the terminal's width where it is
// known.
using Row = std::vector<std::string>;
std::string table(const std::vector<Row>& rows, const Style& style);

}  // namespace lineward::cli
