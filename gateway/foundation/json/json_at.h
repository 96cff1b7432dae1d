// Walks nested values of a JSON text by offsets in the whole text, for splicing. Only for valid JSON.
#pragma once

#include <string>
#include <string_view>

#include "foundation/json/json_scan.h"

namespace lineward::json {

// Calls visit(name, key, value) for each member of the object at `object`: the decoded key, the range of the
// raw key between its quotes, and the range of the value. False if there is no object. `outline`: of the
// text.
template <class F>
bool for_each_member_at(std::string_view text, Span object, F&& visit, const Outline* outline = nullptr) {
  if (!object || text[object.begin] != '{') return false;
  std::string_view inner = object.in(text);
  Cursor cursor(inner, kDepthCeiling);
  cursor.go_around(outline, object.begin);
  if (!cursor.enter_object()) return false;
  Span key, value;
  bool escaped = false;
  while (cursor.next_key(key, escaped)) {
    if (!cursor.skip(value)) return false;
    std::string name = escaped ? unescape(key.in(inner)) : std::string(key.in(inner));
    visit(name, Span{key.begin + object.begin, key.end + object.begin},
          Span{value.begin + object.begin, value.end + object.begin});
  }
  return cursor.done();
}

// Calls visit(element) for each element of the array at `array`. False if there is no array.
template <class F>
bool for_each_element_at(std::string_view text, Span array, F&& visit) {
  if (!array || text[array.begin] != '[') return false;
  std::string_view inner = array.in(text);
  Cursor cursor(inner, kDepthCeiling);
  if (!cursor.enter_array()) return false;
  Span element;
  while (cursor.next_element()) {
    if (!cursor.skip(element)) return false;
    visit(Span{element.begin + array.begin, element.end + array.begin});
  }
  return cursor.done();
}

// The range of the first member of that name; an empty span if there is none.
inline Span member_at(std::string_view text, Span object, std::string_view name,
                      const Outline* outline = nullptr) {
  Span found;
  for_each_member_at(
      text, object,
      [&](const std::string& key, Span, Span value) {
        if (!found && key == name) found = value;
      },
      outline);
  return found;
}

inline bool is_string_at(std::string_view text, Span value) {
  return value && text[value.begin] == '"';
}

// The decoded string at `value`; empty if it is not a string.
inline std::string string_at(std::string_view text, Span value) {
  if (!is_string_at(text, value)) return {};
  return unescape(text.substr(value.begin + 1, value.size() - 2));
}

}  // namespace lineward::json
