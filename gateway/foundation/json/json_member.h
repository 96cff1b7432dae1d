// Reads the raw value of a member of a JSON object. Not for the message path.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foundation/json/json_scan.h"

namespace lineward::json {

// Calls visit(key, value) with the decoded key and the raw value of each member, in order; earlier values may
// have any depth. False if `object` is not an object.
template <class F>
bool for_each_member(std::string_view object, F&& visit) {
  Cursor cursor(object, kWrappedDepth);
  if (!cursor.at_object() || !cursor.enter_object()) return false;
  Span key, value;
  bool escaped = false;
  while (cursor.next_key(key, escaped)) {
    std::string name = escaped ? unescape(key.in(object)) : std::string(key.in(object));
    if (!cursor.skip(value)) return false;
    visit(name, value.in(object));
  }
  return cursor.done();
}

// The raw value of the first member of that name.
inline std::optional<std::string_view> member(std::string_view object, std::string_view name) {
  std::optional<std::string_view> found;
  for_each_member(object, [&](const std::string& key, std::string_view value) {
    if (!found && key == name) found = value;
  });
  return found;
}

// The object without a member of that name.
std::string without_member(std::string_view object, std::string_view name);

// The text of a raw string value; empty if it is not a string.
inline std::string string_value(std::optional<std::string_view> raw) {
  if (!raw || raw->size() < 2 || raw->front() != '"') return {};
  return unescape(raw->substr(1, raw->size() - 2));
}

}  // namespace lineward::json
