// Walks nested JSON in one pass: each visitor consumes the value that it is shown, by skip() or by a walk of
// its own, so that every byte is scanned once whatever the depth. What json_at.h and json_member.h offer
// scans a value again for each level that is entered; that is fine for a look at one level, and a weapon in
// the hands of who nests 128 of them. Recursion of visitors is bounded by the cursor's limit of depth.
#pragma once

#include <string>
#include <string_view>

#include "json/json_scan.h"

namespace lineward::json {

// Calls visit(name, key) for each member of the object that starts at the cursor: the decoded name, which is
// good until visit returns, and where the raw key stands. False when there is no object, or it is broken; the
// cursor then stands at a fault.
template <class F>
bool walk_members(Cursor& cursor, std::string_view text, F&& visit) {
  if (!cursor.enter_object()) return false;
  Span key;
  bool escaped = false;
  while (cursor.next_key(key, escaped)) {
    if (escaped) {
      const std::string decoded = unescape(key.in(text));
      visit(std::string_view(decoded), key);
    } else {
      visit(key.in(text), key);
    }
  }
  return cursor.done();
}

// Calls visit() for each element of the array that starts at the cursor.
template <class F>
bool walk_elements(Cursor& cursor, F&& visit) {
  if (!cursor.enter_array()) return false;
  while (cursor.next_element())
    visit();
  return cursor.done();
}

// The text of the string value at the cursor; empty when another value stands there. The value is passed.
inline std::string walk_string(Cursor& cursor, std::string_view text, Span* where = nullptr) {
  Span value;
  if (!cursor.skip(value)) return {};
  if (where != nullptr) *where = value;
  if (text[value.begin] != '"') return {};
  return unescape(text.substr(value.begin + 1, value.size() - 2));
}

}  // namespace lineward::json
