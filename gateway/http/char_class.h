// The character classes of RFC 9110 and RFC 9112 that the gate, the scan and the writer share.
#pragma once

#include <array>
#include <string_view>

namespace lineward::http {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// -1 when it is none.
inline int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

namespace detail {

// Looked up once per byte of every head, hence a table.
constexpr std::array<bool, 256> make_tchars() {
  std::array<bool, 256> table{};
  for (char c : std::string_view("!#$%&'*+-.^_`|~0123456789"
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
inline constexpr std::array<bool, 256> kTchars = make_tchars();

}  // namespace detail

// A character of a token: method and field names.
inline bool is_tchar(char c) {
  return detail::kTchars[static_cast<unsigned char>(c)];
}

// HTAB counts: where it is allowed the caller says so.
inline bool is_control(char c) {
  unsigned char u = static_cast<unsigned char>(c);
  return u < 0x20 || u == 0x7f;
}

// Visible ASCII, no white space.
inline bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}

}  // namespace lineward::http
