// String text: decoding, comparing, quoting.
#include <cstring>

#include "foundation/json/json_bytes.h"
#include "foundation/json/json_scan.h"

namespace lineward::json {
namespace {

// Appends without checking for surrogates.
void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [](uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += {static_cast<char>(0xC0 | code >> 6), tail(code)};
  } else if (code < 0x10000) {
    out += {static_cast<char>(0xE0 | code >> 12), tail(code >> 6), tail(code)};
  } else {
    out += {static_cast<char>(0xF0 | code >> 18), tail(code >> 12), tail(code >> 6), tail(code)};
  }
}

constexpr uint32_t kReplacement = 0xFFFD;

bool is_high(uint32_t code) {
  return code >= 0xD800 && code < 0xDC00;
}
bool is_low(uint32_t code) {
  return code >= 0xDC00 && code < 0xE000;
}

// The four hexadecimal digits of `\uXXXX` at `at`; kReplacement + 0x110000 if it is not one (never in
// validated text).
constexpr uint32_t kNoUnit = kReplacement + 0x110000;
uint32_t unit_at(const char* at, const char* end) {
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return kNoUnit;
  uint32_t unit = 0;
  for (int i = 2; i < 6; ++i) {
    const int digit = hex_value(at[i]);
    if (digit < 0) return kNoUnit;
    unit = unit << 4 | static_cast<uint32_t>(digit);
  }
  return unit;
}

// Decodes and passes the escape at `at`. Lone surrogates are returned unchanged.
uint32_t decode_escape(const char*& at, const char* end) {
  const uint32_t unit = unit_at(at, end);
  if (unit != kNoUnit) {
    at += 6;
    if (!is_high(unit)) return unit;
    const uint32_t low = unit_at(at, end);
    if (low == kNoUnit || !is_low(low)) return unit;
    at += 6;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  const char letter = end - at >= 2 ? at[1] : '\\';
  at += end - at >= 2 ? 2 : 1;
  switch (letter) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return static_cast<unsigned char>(letter);
  }
}

bool has_escape(std::string_view inner) {
  return inner.find('\\') != std::string_view::npos;
}

std::string decode(std::string_view inner, bool keep_surrogates) {
  std::string out;
  out.reserve(inner.size());
  const char* at = inner.data();
  const char* end = at + inner.size();
  while (at != end) {
    const void* found = std::memchr(at, '\\', static_cast<size_t>(end - at));
    const char* stop = found ? static_cast<const char*>(found) : end;
    out.append(at, stop);
    at = stop;
    if (at == end) break;
    uint32_t code = decode_escape(at, end);
    if (!keep_surrogates && (is_high(code) || is_low(code))) code = kReplacement;
    append_utf8(out, code);
  }
  return out;
}

}  // namespace

std::string unescape(std::string_view inner) {
  return has_escape(inner) ? decode(inner, false) : std::string(inner);
}
std::string unescape_exact(std::string_view inner) {
  return has_escape(inner) ? decode(inner, true) : std::string(inner);
}

bool key_equals(std::string_view raw_key, bool escaped, std::string_view name) {
  if (!escaped) return raw_key == name;
  return raw_key.size() > name.size() &&
         unescape_exact(raw_key) == name;  // an escape is longer than its meaning
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  const char* at = text.data();
  const char* end = at + text.size();
  for (;;) {
    const char* stop = skip_plain(at, end);
    out.append(at, stop);
    at = stop;
    if (at == end) break;
    if (static_cast<unsigned char>(*at) >= 0x80) {
      const int length = utf8_length(at, end);
      if (length == 0) {
        append_utf8(out, kReplacement);
        ++at;
      } else {
        out.append(at, static_cast<size_t>(length));
        at += length;
      }
      continue;
    }
    const char c = *at++;
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: out += {'\\', 'u', '0', '0', kHex[c >> 4 & 1], kHex[c & 15]}; break;
    }
  }
  out += '"';
}

std::string quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

}  // namespace lineward::json
