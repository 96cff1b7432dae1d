#include "base/printable.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/redaction.h"

namespace lineward {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: what stands here is no UTF-8, or not all of it
};

Character read(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  uint32_t code = first & (0xffu >> (size + 1));
  for (size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(at) & 0x3fu);
  }
  constexpr std::array<uint32_t, 5> kLowest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLowest[size] || code > 0x10ffff || surrogate ? Character{} : Character{code, size};
}

struct Range {
  uint32_t first, last;
};

// Controls, what steers the direction of text, what has no width, and what is no character.
constexpr std::array<Range, 14> kHidden{{{0, 0x1f},
                                         {0x7f, 0x9f},
                                         {0xad, 0xad},
                                         {0x61c, 0x61c},
                                         {0x115f, 0x1160},
                                         {0x180b, 0x180f},
                                         {0x200b, 0x200f},
                                         {0x2028, 0x202e},
                                         {0x2060, 0x206f},
                                         {0x3164, 0x3164},
                                         {0xfdd0, 0xfdef},
                                         {0xfeff, 0xfeff},
                                         {0xfff0, 0xfffb},
                                         {0xe0000, 0xe0fff}}};

bool is_hidden(uint32_t code) {
  return (code & 0xfffe) == 0xfffe || std::any_of(kHidden.begin(), kHidden.end(), [code](const Range& range) {
           return code >= range.first && code <= range.last;
         });
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
  std::string clean, out;
  if (redaction::active()) text = clean = redaction::apply(text);
  const bool cut = text.size() > most;
  for (size_t at = 0; at < text.size() && at < most;) {
    const Character next = read(text.substr(at));
    if (next.bytes != 0 && at + next.bytes > most) break;  // not through the middle of a character
    const bool shown = next.bytes != 0 && !is_hidden(next.code);
    const size_t bytes = std::max<size_t>(next.bytes, 1);
    shown ? out.append(text.substr(at, bytes)) : out.append(1, '?');
    at += bytes;
  }
  return cut ? out + "…" : out;
}

}  // namespace lineward
