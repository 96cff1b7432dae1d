// Locates values in JSON text without building anything. Validates the whole text (RFC 8259, UTF-8, no BOM),
// reports byte offsets, allocates nothing, needs no padding, never recurses. Numbers are not converted:
// 1e400, 30 digits and lone surrogate escapes are valid. See ARCHITECTURE.md, "The message path".
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace lineward::json {

inline constexpr int kMaxDepth = 128;       // default limit on nesting of objects and arrays together
inline constexpr int kDepthCeiling = 1024;  // higher limits for messages are reduced to this
// For texts that contain such a message, like hook responses: higher limits are reduced to this.
inline constexpr int kWrappedDepth = kDepthCeiling + 64;

// A half-open range of byte offsets into one text. `end == 0` means "not there" (no JSON value ends at 0).
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  explicit operator bool() const { return end != 0; }
  uint32_t size() const { return end - begin; }
  std::string_view in(std::string_view text) const { return text.substr(begin, end - begin); }
};

enum class Fault : uint8_t { none, syntax, utf8, depth, trailing };

class Outline;  // foundation/json/json_outline.h

// A cursor over one text. All functions return false on a fault, which stays set; `at` is then its position.
class Cursor {
 public:
  explicit Cursor(std::string_view text, int max_depth = kMaxDepth)
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        max_depth_(std::min(max_depth, kWrappedDepth)) {
    if (text.size() >= std::numeric_limits<uint32_t>::max()) fault_ = Fault::syntax;  // offsets would wrap
  }

  // Lets skip() use the outline of the whole text, in which the cursor's text begins at `offset`. The outline
  // must outlive the cursor; null: none.
  void go_around(const Outline* outline, uint32_t offset) {
    outline_ = outline;
    outline_offset_ = offset;
  }

  // Validates and passes one value; `value` is its range without surrounding white space.
  bool skip(Span& value);

  // Walks the members of the object that starts here: enter(), then next_key() until it returns false with
  // done(). next_key: `key` is the raw key text between its quotes, `escaped` means that it contains escapes
  // (compare with key_equals or decode with unescape). The caller must then consume the value: skip() or
  // enter_object().
  bool enter_object();
  bool next_key(Span& key, bool& escaped);
  bool enter_array();
  bool next_element();
  bool done() const { return done_; }  // the object or array just walked has ended properly

  bool at_object();  // whether an object starts here, after white space
  bool at_array();
  bool finish();  // only white space may be left (Fault::trailing)

  Fault fault() const { return fault_; }
  uint32_t offset() const { return static_cast<uint32_t>(at_ - begin_); }

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
  const Outline* outline_ = nullptr;
  uint32_t outline_offset_ = 0;
  int max_depth_;
  int depth_ = 0;
  Fault fault_ = Fault::none;
  bool done_ = false;
  bool first_ = false;

  bool enter(char bracket);
  bool next(char bracket);  // true: a comma was passed, or this is the first one; false: ended or fault
  bool stop(Fault why) {
    fault_ = why;
    done_ = false;
    return false;
  }
};

// The text of a JSON string value or key, given the raw text between its quotes. Lone surrogates become
// U+FFFD.
std::string unescape(std::string_view inner);
// The same, for comparing only: lone surrogates stay distinct, so the result may not be UTF-8.
std::string unescape_exact(std::string_view inner);
// True if the (possibly escaped) raw key text means exactly `name`. No case folding, no normalisation.
bool key_equals(std::string_view raw_key, bool escaped, std::string_view name);
// `text` as a JSON string with quotes. Invalid UTF-8 becomes U+FFFD.
std::string quote(std::string_view text);
void append_quoted(std::string& out, std::string_view text);

// Checks a whole text: one value with optional white space around it.
Fault validate(std::string_view text, int max_depth = kMaxDepth);

}  // namespace lineward::json
