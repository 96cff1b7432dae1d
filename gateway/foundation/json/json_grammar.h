// The grammar of JSON, for json_scan.cc and for single-pass parsers (protocol/mcp/message.cc); other code
// uses json_scan.h.
#pragma once

#include "foundation/json/json_bytes.h"
#include "foundation/json/json_scan.h"

namespace lineward::json {

// Without forced inlining the compiler keeps the position in memory: 25 % slower.
#define LW_INLINE [[gnu::always_inline]]

// The end of the scanned text, or the position of the fault.
struct Passed {
  const char* at;
  Fault fault;
};

// The first byte from `at` on that is not white space.
const char* pass_space(const char* at, const char* end);

// Scans the object or array at `at` with its content, at most `room` levels. kTerminated: see below.
template <bool kTerminated>
Passed pass_container(const char* at, const char* end, int room);

// Functions start at `at` and advance it past the scanned text, or to the fault. With kTerminated a zero byte
// may be read at `end` (std::string has one). Since JSON never contains one, it replaces the bounds check.
template <bool kTerminated>
struct Scanner {
  const char* at;
  const char* end;
  Fault fault = Fault::none;

  LW_INLINE bool stop(Fault why) {
    fault = why;
    return false;
  }

  LW_INLINE bool at_end() const { return !kTerminated && at == end; }

  LW_INLINE void space() {
    if (!at_end() && *at <= ' ') at = pass_space(at, end);
  }

  // The first byte behind white space, or '\0' at the end: no token begins with that. Most texts have no
  // white space.
  LW_INLINE char token() {
    if (at_end()) return '\0';
    if (*at <= ' ') [[unlikely]] {
      at = pass_space(at, end);
      if (at_end()) return '\0';
    }
    return *at;
  }

  // Scans `c` and white space before it.
  LW_INLINE bool pass(char c) {
    // Usually `c` is here, without white space.
    if (at_end() || *at != c) [[unlikely]] {
      if (token() != c) return stop(Fault::syntax);
    }
    ++at;
    return true;
  }

  // From behind the opening quote to behind the closing one.
  LW_INLINE bool string(bool& escaped) {
    for (;;) {
      at = skip_plain(at, end);
      if (at_end()) return stop(Fault::syntax);
      if (*at == '"') {
        ++at;
        return true;
      }
      if (*at == '\\') {
        escaped = true;
        const int length = escape_length(at, end);
        if (length == 0) return stop(Fault::syntax);
        at += length;
        continue;
      }
      if (static_cast<unsigned char>(*at) < 0x20) return stop(Fault::syntax);
      do {
        const int length = utf8_length(at, end);
        if (length == 0) return stop(Fault::utf8);
        at += length;
      } while (!at_end() && static_cast<unsigned char>(*at) >= 0x80);
    }
  }

  LW_INLINE bool digits() {
    const char* const from = at;
    at = skip_digits(at, end);
    return at != from || stop(Fault::syntax);
  }

  LW_INLINE bool number() {
    if (*at == '-') ++at;
    if (!at_end() && *at == '0') {
      ++at;
    } else if (!digits()) {
      return false;
    }
    if (!at_end() && *at == '.') {
      ++at;
      if (!digits()) return false;
    }
    if (!at_end() && (*at == 'e' || *at == 'E')) {
      ++at;
      if (!at_end() && (*at == '+' || *at == '-')) ++at;
      if (!digits()) return false;
    }
    return true;
  }

  LW_INLINE bool word(std::string_view name) {
    if (static_cast<size_t>(end - at) < name.size() || std::memcmp(at, name.data(), name.size()) != 0) {
      return stop(Fault::syntax);
    }
    at += name.size();
    return true;
  }

  // Scans the value that begins here with `first`; not an object or array.
  LW_INLINE bool scalar(char first) {
    if (first == '"') [[likely]] {
      ++at;
      bool escaped = false;
      return string(escaped);
    }
    if (first == '-' || is_digit(first)) return number();
    if (first == 't') return word("true");
    if (first == 'f') return word("false");
    if (first == 'n') return word("null");
    return stop(Fault::syntax);
  }

  // Scans `"key":` and white space before it.
  LW_INLINE bool key(const char*& from, const char*& to, bool& escaped) {
    if (!pass('"')) return false;
    from = at;
    escaped = false;
    if (!string(escaped)) return false;
    to = at - 1;
    return pass(':');
  }

  // Scans any value of at most `room` levels.
  LW_INLINE bool value(char first, int room) {
    if (first != '{' && first != '[') return scalar(first);
    return take(pass_container<kTerminated>(at, end, room));
  }
  // Takes another function's result. By value: a scanner with an escaped address stays in memory.
  LW_INLINE bool take(const Passed& passed) {
    at = passed.at;
    fault = passed.fault;
    return fault == Fault::none;
  }

  // In an object or array: whether another member or element follows, the `first` or after a comma. Otherwise
  // `closing` was scanned, or there is a fault.
  LW_INLINE bool another(char closing, bool first) {
    const char next = token();
    if (next == closing) {
      ++at;
      return false;
    }
    if (first) return next != '\0' || stop(Fault::syntax);
    if (next != ',') return stop(Fault::syntax);
    ++at;
    return true;
  }
};

}  // namespace lineward::json
