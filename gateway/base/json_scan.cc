#include "base/json_scan.h"

#include <cstring>

#include "base/json_bytes.h"

namespace lineward::json {
namespace {

// Left to itself the compiler keeps the position in memory between these: a quarter slower.
#define LW_INLINE [[gnu::always_inline]]

// The grammar. Functions start at `at`, leave it behind what they passed, or at the fault.
struct Scanner {
  const char* at;
  const char* end;
  Fault fault = Fault::none;

  bool stop(Fault why) {
    fault = why;
    return false;
  }

  LW_INLINE void space() {
    while (at != end && *at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
      ++at;
  }

  bool escape() {
    if (end - at < 2) return stop(Fault::syntax);
    switch (at[1]) {
      case '"':
      case '\\':
      case '/':
      case 'b':
      case 'f':
      case 'n':
      case 'r':
      case 't': at += 2; return true;
      case 'u': break;
      default: return stop(Fault::syntax);
    }
    if (end - at < 6) return stop(Fault::syntax);
    if ((hex_value(at[2]) | hex_value(at[3]) | hex_value(at[4]) | hex_value(at[5])) < 0) {
      return stop(Fault::syntax);
    }
    at += 6;
    return true;
  }

  // From behind the opening quote to behind the closing one.
  LW_INLINE bool string(bool& escaped) {
    for (;;) {
      at = skip_plain(at, end);
      if (at == end) return stop(Fault::syntax);
      if (*at == '"') {
        ++at;
        return true;
      }
      if (*at == '\\') {
        escaped = true;
        if (!escape()) return false;
        continue;
      }
      if (static_cast<unsigned char>(*at) < 0x20) return stop(Fault::syntax);
      do {
        const int length = utf8_length(at, end);
        if (length == 0) return stop(Fault::utf8);
        at += length;
      } while (at != end && static_cast<unsigned char>(*at) >= 0x80);
    }
  }

  LW_INLINE bool digits() {
    if (at == end || !is_digit(*at)) return stop(Fault::syntax);
    while (at != end && is_digit(*at))
      ++at;
    return true;
  }

  LW_INLINE bool number() {
    if (*at == '-') ++at;
    if (at != end && *at == '0') {
      ++at;
    } else if (!digits()) {
      return false;
    }
    if (at != end && *at == '.') {
      ++at;
      if (!digits()) return false;
    }
    if (at != end && (*at == 'e' || *at == 'E')) {
      ++at;
      if (at != end && (*at == '+' || *at == '-')) ++at;
      if (!digits()) return false;
    }
    return true;
  }

  bool word(std::string_view name) {
    if (static_cast<size_t>(end - at) < name.size() || std::memcmp(at, name.data(), name.size()) != 0) {
      return stop(Fault::syntax);
    }
    at += name.size();
    return true;
  }

  // Any value that is not an object or an array.
  LW_INLINE bool scalar() {
    if (at == end) return stop(Fault::syntax);
    if (*at == '"') {
      ++at;
      bool escaped = false;
      return string(escaped);
    }
    if (*at == '-' || is_digit(*at)) return number();
    if (*at == 't') return word("true");
    if (*at == 'f') return word("false");
    if (*at == 'n') return word("null");
    return stop(Fault::syntax);
  }

  // `"key":`, from white space before it.
  LW_INLINE bool key(const char*& from, bool& escaped) {
    space();
    if (at == end || *at != '"') return stop(Fault::syntax);
    from = ++at;
    return string(escaped);
  }
  LW_INLINE bool colon() {
    space();
    if (at == end || *at != ':') return stop(Fault::syntax);
    ++at;
    return true;
  }

  // An object or array with all that is in it, at most `room` levels.
  bool container(int room) {
    uint64_t parents[kDepthCeiling / 64] =
        {};  // a bit for each open container: is the one around it an object?
    int depth = 0;
    bool in_object = false;
    for (;;) {
      // A value is due, in an object its key first.
      if (in_object) {
        const char* from;
        bool escaped;
        if (!key(from, escaped) || !colon()) return false;
      }
      space();
      if (at != end && (*at == '{' || *at == '[')) {
        if (depth >= room) return stop(Fault::depth);
        uint64_t& bits = parents[depth / 64];
        const uint64_t bit = uint64_t{1} << (depth % 64);
        bits = in_object ? bits | bit : bits & ~bit;
        ++depth;
        in_object = *at++ == '{';
        space();
        if (at == end || *at != (in_object ? '}' : ']')) continue;
      } else if (!scalar()) {
        return false;
      }
      // A value has ended, or an empty container is about to: up to the next comma, or out.
      for (;;) {
        space();
        if (at == end) return stop(Fault::syntax);
        if (*at == ',') break;
        if (*at != (in_object ? '}' : ']')) return stop(Fault::syntax);
        ++at;
        --depth;
        if (depth == 0) return true;
        in_object = parents[depth / 64] >> (depth % 64) & 1;
      }
      ++at;
    }
  }
};

}  // namespace

bool Cursor::skip(Span& value) {
  if (fault_ != Fault::none) return false;
  Scanner scan{at_, end_};
  scan.space();
  const char* from = scan.at;
  const bool opens = from != end_ && (*from == '{' || *from == '[');
  const bool good = opens ? scan.container(max_depth_ - depth_) : scan.scalar();
  at_ = scan.at;
  if (!good) return stop(scan.fault);
  value = {static_cast<uint32_t>(from - begin_), offset()};
  return true;
}

bool Cursor::enter(char bracket) {
  if (fault_ != Fault::none) return false;
  Scanner scan{at_, end_};
  scan.space();
  at_ = scan.at;
  if (at_ == end_ || *at_ != bracket) return stop(Fault::syntax);
  if (depth_ >= max_depth_) return stop(Fault::depth);
  ++at_;
  ++depth_;
  first_ = true;
  done_ = false;
  return true;
}

bool Cursor::next(char bracket) {
  if (fault_ != Fault::none) return false;
  Scanner scan{at_, end_};
  scan.space();
  at_ = scan.at;
  if (at_ == end_) return stop(Fault::syntax);
  const bool first = first_;
  first_ = false;
  done_ = false;
  if (*at_ == bracket) {
    ++at_;
    --depth_;
    done_ = true;
    return false;
  }
  if (first) return true;
  if (*at_ != ',') return stop(Fault::syntax);
  ++at_;
  return true;
}

bool Cursor::enter_object() {
  return enter('{');
}
bool Cursor::enter_array() {
  return enter('[');
}
bool Cursor::next_element() {
  return next(']');
}

bool Cursor::next_key(Span& key, bool& escaped) {
  if (!next('}')) return false;
  Scanner scan{at_, end_};
  const char* from = at_;
  escaped = false;
  bool good = scan.key(from, escaped);
  if (good) key = {static_cast<uint32_t>(from - begin_), static_cast<uint32_t>(scan.at - begin_) - 1};
  good = good && scan.colon();
  at_ = scan.at;
  return good || stop(scan.fault);
}

Cursor::Member Cursor::next_member(Span& key, bool& escaped, Span& value) {
  if (fault_ != Fault::none) return Member::none;
  Scanner scan{at_, end_};
  const auto fault = [&](Fault why) {
    at_ = scan.at;
    stop(why);
    return Member::none;
  };
  const bool first = first_;
  first_ = done_ = escaped = false;
  scan.space();
  if (scan.at == end_) return fault(Fault::syntax);
  if (*scan.at == '}') {
    at_ = scan.at + 1;
    --depth_;
    done_ = true;
    return Member::none;
  }
  if (!first) {
    if (*scan.at != ',') return fault(Fault::syntax);
    ++scan.at;
  }
  const char* from = scan.at;
  if (!scan.key(from, escaped)) return fault(scan.fault);
  key = {static_cast<uint32_t>(from - begin_), static_cast<uint32_t>(scan.at - begin_) - 1};
  if (!scan.colon()) return fault(scan.fault);
  scan.space();
  at_ = from = scan.at;
  if (from != end_ && *from == '{') return Member::object;
  const bool list = from != end_ && *from == '[';
  if (!(list ? scan.container(max_depth_ - depth_) : scan.scalar())) return fault(scan.fault);
  at_ = scan.at;
  value = {static_cast<uint32_t>(from - begin_), offset()};
  return Member::value;
}

bool Cursor::at_object() {
  Scanner scan{at_, end_};
  scan.space();
  at_ = scan.at;
  return fault_ == Fault::none && at_ != end_ && *at_ == '{';
}

bool Cursor::at_array() {
  Scanner scan{at_, end_};
  scan.space();
  at_ = scan.at;
  return fault_ == Fault::none && at_ != end_ && *at_ == '[';
}

bool Cursor::finish() {
  if (fault_ != Fault::none) return false;
  Scanner scan{at_, end_};
  scan.space();
  at_ = scan.at;
  return at_ == end_ || stop(Fault::trailing);
}

Fault validate(std::string_view text, int max_depth) {
  Cursor cursor(text, max_depth);
  Span value;
  if (cursor.skip(value)) cursor.finish();
  return cursor.fault();
}

}  // namespace lineward::json
