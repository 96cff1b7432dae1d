// base64url without padding (RFC 4648, section 5), strict: each byte sequence has exactly one text, so that
// signed or sealed data has no second spelling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward {

inline std::string to_base64url(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  uint32_t word = 0;
  int bits = 0;
  for (unsigned char byte : bytes) {
    word = word << 8 | byte;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out += kDigits[word >> bits & 63];
    }
  }
  if (bits > 0) out += kDigits[word << (6 - bits) & 63];
  return out;
}

// nullopt if `text` is not base64url, or not the canonical encoding of its bytes.
inline std::optional<std::string> from_base64url(std::string_view text) {
  auto digit = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '-') return 62;
    return c == '_' ? 63 : -1;
  };
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t word = 0;
  int bits = 0;
  for (char c : text) {
    int value = digit(c);
    if (value < 0) return std::nullopt;
    word = word << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(word >> bits & 0xff);
  }
  if ((word & ((1u << bits) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace lineward
