// The grammar of JSON, for json_scan.cc and for who walks a text in one go (mcp/message.cc); others take
// json_scan.h.
#pragma once

#include "json/json_bytes.h"
#include "json/json_scan.h"

namespace lineward::json {

// Left to itself the compiler keeps the position in memory between these: a quarter slower.
#define LW_INLINE [[gnu::always_inline]]

// Behind what was passed, or at the fault.
struct Passed {
  const char* at;
  Fault fault;
};

// From `at` on to what is no white space.
const char* pass_space(const char* at, const char* end);

// The object or array that starts at `at` with all that is in it, at most `room` levels. kTerminated: as
// below.
template <bool kTerminated>
Passed pass_container(const char* at, const char* end, int room);

// Functions start at `at`, leave it behind what they passed, or at the fault. kTerminated: a zero byte may be
// read at `end` (std::string has one); as no part of any JSON it stops what else had to be stopped there.
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

  // What stands behind white space, or '\0' at the end: nothing begins with that. There is none in most
  // texts.
  LW_INLINE char token() {
    if (at_end()) return '\0';
    if (*at <= ' ') [[unlikely]] {
      at = pass_space(at, end);
      if (at_end()) return '\0';
    }
    return *at;
  }

  // `c`, from white space before it.
  LW_INLINE bool pass(char c) {
    // Nearly always it stands here, and then it is no white space.
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
    if (at_end() || !is_digit(*at)) return stop(Fault::syntax);
    while (!at_end() && is_digit(*at))
      ++at;
    return true;
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

  // The value that begins here with `first`, no object or array.
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

  // `"key":`, from white space before it.
  LW_INLINE bool key(const char*& from, const char*& to, bool& escaped) {
    if (!pass('"')) return false;
    from = at;
    escaped = false;
    if (!string(escaped)) return false;
    to = at - 1;
    return pass(':');
  }

  // Any value, at most `room` levels of it.
  LW_INLINE bool value(char first, int room) {
    if (first != '{' && first != '[') return scalar(first);
    return take(pass_container<kTerminated>(at, end, room));
  }
  // What another function has passed: by value, for a scanner whose address is known stays in memory.
  LW_INLINE bool take(const Passed& passed) {
    at = passed.at;
    fault = passed.fault;
    return fault == Fault::none;
  }

  // In an object or array: is there another member or element, the `first` or behind a comma? Else it has
  // been left behind `closing`, or there is a fault.
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
