#include "operate/cli/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace lineward::cli {
namespace {

struct Range {
  uint32_t first, last;
};

// East Asian wide and fullwidth characters, and emoji.
constexpr std::array<Range, 15> kTwoColumns{{{0x1100, 0x115f},
                                             {0x2329, 0x232a},
                                             {0x2e80, 0x303e},
                                             {0x3041, 0x4dbf},
                                             {0x4e00, 0xa4cf},
                                             {0xa960, 0xa97c},
                                             {0xac00, 0xd7a3},
                                             {0xf900, 0xfaff},
                                             {0xfe30, 0xfe6f},
                                             {0xff00, 0xff60},
                                             {0xffe0, 0xffe6},
                                             {0x1f300, 0x1f64f},
                                             {0x1f680, 0x1f6ff},
                                             {0x1f900, 0x1faff},
                                             {0x20000, 0x3fffd}}};
// Combining marks.
constexpr std::array<Range, 6> kNoColumn{{{0x300, 0x36f},
                                          {0x1ab0, 0x1aff},
                                          {0x1dc0, 0x1dff},
                                          {0x20d0, 0x20ff},
                                          {0xfe00, 0xfe0f},
                                          {0xfe20, 0xfe2f}}};

template <size_t N>
bool is_in(const std::array<Range, N>& ranges, uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

struct Cell {
  size_t bytes = 1, columns = 1;
};

// The cell of the first character; invalid UTF-8 counts byte by byte.
Cell cell_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0xc0) return {};
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (size > text.size()) return {};
  uint32_t code = first & (0xffu >> (size + 1));
  for (size_t at = 1; at < size; ++at)
    code = (code << 6) | (static_cast<unsigned char>(text[at]) & 0x3fu);
  if (code < 0x300) return {size, 1};
  return {size, is_in(kNoColumn, code) ? 0u : is_in(kTwoColumns, code) ? 2u : 1u};
}

}  // namespace

size_t width_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Cell cell = cell_at(text);
    columns += cell.columns;
    text.remove_prefix(cell.bytes);
  }
  return columns;
}

std::string cut(std::string_view text, size_t most) {
  if (most == 0 || width_of(text) <= most) return std::string(text);
  size_t columns = 0, at = 0;
  while (at < text.size()) {
    const Cell cell = cell_at(text.substr(at));
    if (columns + cell.columns >= most) break;
    columns += cell.columns;
    at += cell.bytes;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::string padded(std::string_view text, size_t columns) {
  const size_t width = width_of(text);
  return std::string(text) + std::string(width < columns ? columns - width : 0, ' ');
}

std::string fitted(std::string_view text, size_t columns) {
  return columns == 0 ? std::string() : padded(cut(text, columns), columns);
}

std::string paint(std::string_view text, std::string_view code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

std::vector<size_t> widths_within(std::vector<size_t> widths, const std::vector<Shrink>& steps, size_t gap,
                                  size_t room) {
  auto total = [&] {
    size_t sum = 0;
    for (const size_t width : widths)
      sum += width > 0 ? width + gap : 0;
    return sum > gap ? sum - gap : sum;
  };
  for (const Shrink& step : steps) {
    const size_t sum = total();
    if (sum <= room) break;
    size_t& width = widths[step.column];
    if (width <= step.least) continue;
    width = step.least == 0 ? 0 : std::max(step.least, width - std::min(width, sum - room));
  }
  return widths;
}

std::vector<size_t> natural_widths(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

size_t room_of(const Style& style) {
  return style.wide || style.width <= 20 ? 0 : style.width;
}

std::string table(const std::vector<Row>& rows, const Style& style, const std::vector<Shrink>& steps) {
  constexpr size_t kGap = 2;
  const size_t room = room_of(style);
  std::vector<size_t> widths = natural_widths(rows);
  if (room > 0) widths = widths_within(std::move(widths), steps, kGap, room);
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths[i] > 0) line += fitted(row[i], widths[i]) + std::string(kGap, ' ');
    }
    line.resize(line.find_last_not_of(' ') + 1);
    line = cut(line, room);
    out += (&row == &rows.front() ? paint(line, "1", style.colour) : line) + "\n";
  }
  return out;
}

}  // namespace lineward::cli
