#include "foundation/log/sanitize.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "foundation/json/json_scan.h"
#include "foundation/log/redaction.h"

namespace lineward {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: invalid or incomplete UTF-8 here
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

// Controls, bidirectional controls, zero-width characters and noncharacters.
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

bool is_printable_ascii(char c) {
  return c >= 0x20 && c < 0x7f;
}

// Characters allowed in a line without quotes.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> table{};
  for (int c = 0x21; c < 0x7f; ++c)
    table[static_cast<size_t>(c)] = c != '"' && c != '=' && c != '\\';
  return table;
}();

void escape(std::string& out, uint32_t code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto unit = [&](uint32_t value) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4)
      out += kDigits[(value >> shift) & 0xf];
  };
  if (code < 0x10000) return unit(code);
  unit(0xd800 + ((code - 0x10000) >> 10));
  unit(0xdc00 + ((code - 0x10000) & 0x3ff));
}

// As a JSON string. Invalid bytes become U+FFFD, as in a reader.
void append_in_quotes(std::string& out, std::string_view text, Letters letters) {
  if (is_plain_word(text)) {  // most values
    out += '"';
    out += text;
    out += '"';
    return;
  }
  const std::string json = json::quote(text);
  for (size_t at = 0; at < json.size();) {
    const size_t start = at;
    while (at < json.size() && is_printable_ascii(json[at]))
      ++at;
    out.append(json, start, at - start);
    if (at == json.size()) break;
    const Character next = read(std::string_view(json).substr(at));
    const size_t bytes = std::max<size_t>(next.bytes, 1);
    const bool shown =
        next.bytes != 0 && !is_hidden(next.code) && (letters == Letters::all || next.code < 0x7f);
    if (shown) {
      out.append(json, at, bytes);
    } else {
      escape(out, next.bytes == 0 ? 0xfffd : next.code);
    }
    at += bytes;
  }
}

// Calls use(text) with the redacted text.
template <class Use>
auto redacted(std::string_view text, Use&& use) {
  if (!redaction::touches(text)) return use(text);
  const std::string clean = redaction::apply(text);
  return use(std::string_view(clean));
}

// Bytes of the colour sequence at `at`, or 0.
size_t colour_at(std::string_view text) {
  if (text.substr(0, 2) != "\x1b[") return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string stripped(std::string_view text, size_t most, Colours colours = Colours::none) {
  std::string out;
  const bool cut = text.size() > most;
  for (size_t at = 0; at < text.size() && at < most;) {
    if (const size_t colour = colours == Colours::ours ? colour_at(text.substr(at)) : 0; colour > 0) {
      out.append(text.substr(at, colour));
      at += colour;
      continue;
    }
    const Character next = read(text.substr(at));
    if (next.bytes != 0 && at + next.bytes > most) break;  // never within a character
    const bool shown = next.bytes != 0 && !is_hidden(next.code);
    const size_t bytes = std::max<size_t>(next.bytes, 1);
    shown ? out.append(text.substr(at, bytes)) : out.append(1, '?');
    at += bytes;
  }
  return cut ? out + "…" : out;
}

}  // namespace

bool is_plain_word(std::string_view value) {
  // Eight at a time; the top bit of a byte marks a character that is not plain. A false positive (borrows
  // propagate upwards) costs a check of each byte.
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  const auto odd = [](uint64_t word) {
    const auto is = [word](char c) { return (word ^ (kOnes * static_cast<unsigned char>(c))) - kOnes; };
    return (word | (word - kOnes * 0x21) | (word + kOnes) | is('"') | is('=') | is('\\')) & kTops;
  };
  const auto slowly = [](std::string_view some) {
    return std::all_of(some.begin(), some.end(),
                       [](char c) { return kPlain[static_cast<unsigned char>(c)]; });
  };
  const size_t size = value.size();
  uint64_t word = 0;
  if (size < sizeof word) return size > 0 && slowly(value);
  for (size_t at = 0; at + sizeof word < size; at += sizeof word) {
    std::memcpy(&word, value.data() + at, sizeof word);
    if (odd(word) != 0) return slowly(value);
  }
  std::memcpy(&word, value.data() + size - sizeof word, sizeof word);
  return odd(word) == 0 || slowly(value);
}

std::string sanitize(std::string_view text, size_t most) {
  return redacted(text, [most](std::string_view clean) { return stripped(clean, most); });
}

std::string terminal_text(std::string_view text, Colours colours) {
  return redacted(text, [colours](std::string_view clean) {
    std::string out;
    for (size_t at = 0; at < clean.size();) {
      const size_t end = std::min(clean.find('\n', at), clean.size());
      out += stripped(clean.substr(at, end - at), std::string::npos, colours);
      if (end < clean.size()) out += '\n';
      at = end + 1;
    }
    return out;
  });
}

void append_logged(std::string& out, std::string_view text, bool quotes, Letters letters) {
  redacted(text, [&](std::string_view clean) {
    if (!quotes && is_plain_word(clean)) {
      out += clean;
    } else {
      append_in_quotes(out, clean, letters);
    }
  });
}

std::string logged(std::string_view text, bool quotes, Letters letters) {
  std::string out;
  append_logged(out, text, quotes, letters);
  return out;
}

}  // namespace lineward
