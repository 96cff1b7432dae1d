// Walks nested JSON in one pass. Each visitor consumes its value, by skip() or by a walk, so every byte is
// scanned once. In contrast, json_at.h and json_member.h scan a value again for each level entered. That is
// fine for one level, but attackable with 128 nested levels. The cursor's depth limit bounds the recursion of
// visitors.
#pragma once

#include <string>
#include <string_view>

#include "foundation/json/json_scan.h"

namespace lineward::json {

// Calls visit(name, key) for each member of the object at the cursor: the decoded name, valid until visit
// returns, and the range of the raw key. False if there is no object, or it is broken; the cursor is then at
// a fault.
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

// The text of the string value at the cursor; empty for another value. Passes the value.
inline std::string walk_string(Cursor& cursor, std::string_view text, Span* where = nullptr) {
  Span value;
  if (!cursor.skip(value)) return {};
  if (where != nullptr) *where = value;
  if (text[value.begin] != '"') return {};
  return unescape(text.substr(value.begin + 1, value.size() - 2));
}

}  // namespace lineward::json
