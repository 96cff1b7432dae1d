// Byte classes of JSON text. Only for json_grammar.h and json_text.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lineward::json {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The value of a hexadecimal digit, or -1.
inline int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Bytes that end a run of plain string bytes: quote, backslash, control byte, first byte of a multi-byte
// sequence.
inline bool is_special(unsigned char c) {
  return c < 0x20 || c >= 0x80 || c == '"' || c == '\\';
}

// The first special byte from `at` on, or `end`: eight bytes at a time, any byte order. A false positive
// (borrows propagate upwards) only costs a check of each byte.
inline const char* skip_plain_portable(const char* at, const char* end) {
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  while (end - at >= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    const uint64_t quote = word ^ (kOnes * '"'), backslash = word ^ (kOnes * '\\');
    const uint64_t alarm = word | (word - kOnes * 0x20) | (quote - kOnes) | (backslash - kOnes);
    if (alarm & kTops) break;
    at += 8;
  }
  while (at != end && !is_special(static_cast<unsigned char>(*at)))
    ++at;
  return at;
}

inline const char* skip_plain(const char* at, const char* end) {
#ifdef __SSE2__
  // Flipping this bit swaps quotes with spaces, next to the control bytes. Bytes from 0x80 on are the lowest:
  // the comparison is signed.
  const __m128i turn = _mm_set1_epi8('"' ^ ' '), above = _mm_set1_epi8(' ' + 1),
                backslash = _mm_set1_epi8('\\');
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i low = _mm_cmplt_epi8(_mm_xor_si128(bytes, turn), above);
    const int special = _mm_movemask_epi8(_mm_or_si128(low, _mm_cmpeq_epi8(bytes, backslash)));
    if (special != 0) return at + __builtin_ctz(static_cast<unsigned>(special));
  }
#endif
  return skip_plain_portable(at, end);
}

// The first byte from `at` on that is no digit, or `end`.
inline const char* skip_digits(const char* at, const char* end) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  while (end - at >= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    word ^= kOnes * '0';  // a digit is its value now; a carry reaches only bytes behind one that is none
    const uint64_t others = (word | (word + kOnes * (0x80 - 10))) & kTops;
    if (others != 0) return at + __builtin_ctzll(others) / 8;
    at += 8;
  }
#endif
  while (at != end && is_digit(*at))
    ++at;
  return at;
}

// The length of the escape at the backslash `at`, or 0 if it is invalid.
inline int escape_length(const char* at, const char* end) {
  if (end - at < 2) return 0;
  switch (at[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return 2;
    case 'u': break;
    default: return 0;
  }
  if (end - at < 6) return 0;
  return (hex_value(at[2]) | hex_value(at[3]) | hex_value(at[4]) | hex_value(at[5])) < 0 ? 0 : 6;
}

// The length of the well-formed multi-byte UTF-8 sequence at `at`, or 0 (Unicode, table 3-7).
inline int utf8_length(const char* at, const char* end) {
  const auto byte = [at](int i) { return static_cast<unsigned char>(at[i]); };
  const auto tail = [&byte](int i) { return (byte(i) & 0xC0) == 0x80; };
  const ptrdiff_t left = end - at;
  const unsigned char lead = byte(0);
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (lead < 0xE0) return left >= 2 && tail(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !tail(1) || !tail(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
    if (lead == 0xED && byte(1) > 0x9F) return 0;  // surrogate
    return 3;
  }
  if (left < 4 || !tail(1) || !tail(2) || !tail(3)) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
  return 4;
}

}  // namespace lineward::json
