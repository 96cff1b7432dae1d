#include "foundation/json/json_scan.h"

#include "foundation/base/check.h"
#include "foundation/json/json_grammar.h"
#include "foundation/json/json_outline.h"

namespace lineward::json {

const char* pass_space(const char* at, const char* end) {
  while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
    ++at;
  return at;
}

template <bool kTerminated>
Passed pass_container(const char* at, const char* end, int room) {
  Scanner<kTerminated> scan{at, end};
  const auto stop = [&scan](Fault why = Fault::none) {
    if (why != Fault::none) scan.fault = why;
    return Passed{scan.at, scan.fault};
  };
  // A bit for each open container: whether its parent is an object. The innermost ones are in `bits`.
  uint64_t outer[kWrappedDepth / 64];
  uint64_t bits = 0;
  int depth = 0;
  bool in_object = false;
  room = std::min(room, kWrappedDepth);
  for (;;) {
    // A value is due; in an object its key comes first.
    if (in_object) {
      const char* from;
      const char* to;
      bool escaped;
      if (!scan.key(from, to, escaped)) return stop();
    }
    const char first = scan.token();
    if (first == '{' || first == '[') {
      if (depth >= room) return stop(Fault::depth);
      bits = bits << 1 | in_object;
      if (++depth % 64 == 0) outer[depth / 64 - 1] = bits;
      in_object = first == '{';
      ++scan.at;
      if (scan.token() != (in_object ? '}' : ']')) continue;
    } else if (!scan.scalar(first)) {
      return stop();
    }
    // A value has ended, or an empty container is about to end: continue to the next comma, or leave the
    // container.
    for (;;) {
      const char next = scan.token();
      if (next == ',') break;
      if (next != (in_object ? '}' : ']')) return stop(Fault::syntax);
      ++scan.at;
      if (depth == 1) return stop();
      if (depth % 64 == 0) bits = outer[depth / 64 - 1];
      --depth;
      in_object = bits & 1;
      bits >>= 1;
    }
    ++scan.at;
  }
}

template Passed pass_container<true>(const char* at, const char* end, int room);
template Passed pass_container<false>(const char* at, const char* end, int room);

bool Cursor::skip(Span& value) {
  if (fault_ != Fault::none) return false;
  Scanner<false> scan{at_, end_};
  const char first = scan.token();
  const char* from = scan.at;
  const uint32_t known =
      outline_ == nullptr ? 0 : outline_->end_of(outline_offset_ + static_cast<uint32_t>(from - begin_));
  bool good = true;
  if (known != 0) {
    scan.at = begin_ + (known - outline_offset_);
    LW_CHECK(scan.at <= end_);
  } else {
    good = scan.value(first, max_depth_ - depth_);
  }
  at_ = scan.at;
  if (!good) return stop(scan.fault);
  value = {static_cast<uint32_t>(from - begin_), offset()};
  return true;
}

bool Cursor::enter(char bracket) {
  if (fault_ != Fault::none) return false;
  Scanner<false> scan{at_, end_};
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
  Scanner<false> scan{at_, end_};
  const bool another = scan.another(bracket, first_);
  at_ = scan.at;
  first_ = false;
  done_ = !another && scan.fault == Fault::none;
  if (done_) --depth_;
  return another || (!done_ && stop(scan.fault));
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
  Scanner<false> scan{at_, end_};
  const char* from;
  const char* to;
  const bool good = scan.key(from, to, escaped);
  at_ = scan.at;
  if (!good) return stop(scan.fault);
  key = {static_cast<uint32_t>(from - begin_), static_cast<uint32_t>(to - begin_)};
  return true;
}

bool Cursor::at_object() {
  Scanner<false> scan{at_, end_};
  scan.space();
  at_ = scan.at;
  return fault_ == Fault::none && at_ != end_ && *at_ == '{';
}

bool Cursor::at_array() {
  Scanner<false> scan{at_, end_};
  scan.space();
  at_ = scan.at;
  return fault_ == Fault::none && at_ != end_ && *at_ == '[';
}

bool Cursor::finish() {
  if (fault_ != Fault::none) return false;
  Scanner<false> scan{at_, end_};
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
