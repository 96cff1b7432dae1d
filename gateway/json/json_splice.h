// Changes a few bytes of a JSON text and leaves all others as they came.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json_outline.h"
#include "json/json_scan.h"

namespace lineward::json {

// Collects edits in any order, applies them once. Ranges must not overlap; several inserts at one place keep
// the order in which they were added.
class Splice {
 public:
  // `outline`: of the text, where there is one.
  explicit Splice(std::string_view text, OutlinePtr outline = nullptr)
      : text_(text), outline_(std::move(outline)) {
    edits_.reserve(2);
  }

  void replace(Span value, std::string text) { edits_.push_back({value.begin, value.end, std::move(text)}); }
  void insert(uint32_t at, std::string text) { edits_.push_back({at, at, std::move(text)}); }
  // Adds `"key":value` as the first member of the object at `object` (its range includes the braces).
  void add_member(Span object, std::string_view key, std::string_view value);
  // Removes a member of an object, with the comma it no longer needs. `key` is the range of the key between
  // its quotes, `value` that of its value. Removing several members of one object is fine, also all of them,
  // and so is adding to that object at the same time.
  void remove_member(Span object, Span key, Span value);

  bool empty() const { return edits_.empty() && additions_.empty() && removals_.empty(); }
  // The changed text. The splice is empty afterwards.
  std::string apply();
  // The same, with what is still known of it.
  Text apply_outlined();

 private:
  // Held back until apply(): whether a comma is needed depends on what else happens to the same object.
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

// The text with `with` in the place of one range.
std::string replaced(std::string_view text, Span range, std::string_view with);

// Turns raw line breaks into spaces in place. In valid JSON they are white space between tokens, so the
// message stays the same and fits on one stdio line.
void flatten_lines(std::string& text);

// The same valid JSON without white space between its tokens.
std::string compact(std::string_view text);

}  // namespace lineward::json
