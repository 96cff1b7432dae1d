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

// A column of a table, and the width to which it shrinks where the table has not enough room; 0: it is left
// out.
struct Shrink {
  size_t column = 0;
  size_t least = 0;
};
// The widths of columns that stand `gap` blanks apart, in at most `room` columns of a terminal: the steps are
// taken one after the other, each only as far as it must. A width of 0: the column is left out.
std::vector<size_t> widths_within(std::vector<size_t> widths, const std::vector<Shrink>& steps, size_t gap,
                                  size_t room);

// Rows of equally many cells, the first of them the head. Where the terminal's width is known, `steps` are
// taken until the table fits, and what is too wide even then is cut at the end of its line.
using Row = std::vector<std::string>;
std::vector<size_t> natural_widths(const std::vector<Row>& rows);
std::string table(const std::vector<Row>& rows, const Style& style, const std::vector<Shrink>& steps = {});
// The room that a table has; 0: nothing is cut.
size_t room_of(const Style& style);

}  // namespace lineward::cli
