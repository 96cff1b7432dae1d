// The character classes of RFC 9110 and RFC 9112, shared by the gate, the scan and the writer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lineward::http {

// For Content-Length: far above any accepted body, far below 2^64.
inline constexpr size_t kMaxLengthDigits = 15;

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The caller has checked that these are digits, and at most kMaxLengthDigits.
inline uint64_t decimal_value(std::string_view digits) {
  uint64_t number = 0;
  for (char c : digits)
    number = number * 10 + static_cast<uint64_t>(c - '0');
  return number;
}

// -1: not a hex digit.
inline int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

namespace detail {

// Looked up for every byte of every head, hence a table.
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

// Includes HTAB: callers that allow it must check for it.
inline bool is_control(char c) {
  unsigned char u = static_cast<unsigned char>(c);
  return u < 0x20 || u == 0x7f;
}

// The first control character from `at` on, including HTAB, or `end`.
inline const char* find_control(const char* at, const char* end) {
#ifdef __SSE2__
  const __m128i highest = _mm_set1_epi8(0x1f), del = _mm_set1_epi8(0x7f);
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, highest), bytes);
    const int mask = _mm_movemask_epi8(_mm_or_si128(low, _mm_cmpeq_epi8(bytes, del)));
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
    at += 16;
  }
  if (at == end) return end;
  char rest[16];  // spaces are not control characters
  std::memset(rest, ' ', sizeof rest);
  std::memcpy(rest, at, static_cast<size_t>(end - at));
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rest));
  const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, highest), bytes);
  const int mask = _mm_movemask_epi8(_mm_or_si128(low, _mm_cmpeq_epi8(bytes, del)));
  return mask != 0 ? at + __builtin_ctz(static_cast<unsigned>(mask)) : end;
#else
  while (at != end && !is_control(*at))
    ++at;
  return at;
#endif
}

// RFC 9110, 5.6.2: a method, a header's name.
inline bool is_token(std::string_view text) {
  for (char c : text) {
    if (!is_tchar(c)) return false;
  }
  return !text.empty();
}

// Visible ASCII, no white space.
inline bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}

}  // namespace lineward::http
