// Changes a few bytes of a JSON text and keeps all others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/json/json_outline.h"
#include "foundation/json/json_scan.h"

namespace lineward::json {

// Collects edits in any order, applies them once. Ranges must not overlap; several inserts at one place keep
// the order in which they were added.
class Splice {
 public:
  // `outline`: of the text, if there is one.
  explicit Splice(std::string_view text, OutlinePtr outline = nullptr)
      : text_(text), outline_(std::move(outline)) {
    edits_.reserve(2);
  }

  void replace(Span value, std::string text) { edits_.push_back({value.begin, value.end, std::move(text)}); }
  void insert(uint32_t at, std::string text) { edits_.push_back({at, at, std::move(text)}); }
  // Adds `"key":value` as the first member of the object at `object` (its range includes the braces).
  void add_member(Span object, std::string_view key, std::string_view value);
  // Removes a member of an object and the comma that it no longer needs. `key` is the range of the key
  // between its quotes, `value` that of its value. Several or all members of one object may be removed, and
  // members added to that object at the same time.
  void remove_member(Span object, Span key, Span value);

  bool empty() const { return edits_.empty() && additions_.empty() && removals_.empty(); }
  // The changed text. The splice is empty afterwards.
  std::string apply();
  // The same, with the outline of the result.
  Text apply_outlined();

 private:
  // Deferred until apply(): the comma depends on the other edits of the same object.
  struct Addition {
    Span object;
    std::string member;
  };
  struct Removal {
    Span object, key, value;
  };
  void resolve_members();
  void order();
  std::string joined();
  std::string_view text_;
  OutlinePtr outline_;
  std::vector<Edit> edits_;
  std::vector<Addition> additions_;
  std::vector<Removal> removals_;
};

// The text with one range replaced by `with`.
std::string replaced(std::string_view text, Span range, std::string_view with);

// Turns raw line breaks into spaces in place. In valid JSON they are white space between tokens, so the
// message keeps its meaning and fits on one stdio line.
void flatten_lines(std::string& text);

// The same valid JSON without white space between its tokens.
std::string compact(std::string_view text);

}  // namespace lineward::json
