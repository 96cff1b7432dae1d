// Text in terminal columns: width, truncation, padding, and tables. Expects text without control characters
// (foundation/log/sanitize.h). Pure.
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

// A column of a table, and the width to which it shrinks if the table has not enough room; 0: it is left out.
struct Shrink {
  size_t column = 0;
  size_t least = 0;
};
// The widths of columns with `gap` blanks between, in at most `room` columns of a terminal. The steps are
// taken in order, each only as far as needed. A width of 0: the column is left out.
std::vector<size_t> widths_within(std::vector<size_t> widths, const std::vector<Shrink>& steps, size_t gap,
                                  size_t room);

// Rows with the same number of cells, the first is the header. If the terminal's width is known, `steps` are
// taken until the table fits; a line that is still too wide is truncated.
using Row = std::vector<std::string>;
std::vector<size_t> natural_widths(const std::vector<Row>& rows);
std::string table(const std::vector<Row>& rows, const Style& style, const std::vector<Shrink>& steps = {});
// The room that a table has; 0: nothing is cut.
size_t room_of(const Style& style);

}  // namespace lineward::cli
