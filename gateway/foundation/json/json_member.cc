#include "foundation/json/json_member.h"

#include "foundation/json/json_splice.h"

namespace lineward::json {

std::string without_member(std::string_view object, std::string_view name) {
  Cursor cursor(object, kWrappedDepth);
  Splice splice(object);
  if (!cursor.at_object() || !cursor.enter_object()) return std::string(object);
  Span key, value;
  bool escaped = false;
  while (cursor.next_key(key, escaped)) {
    if (!cursor.skip(value)) return std::string(object);
    if (key_equals(key.in(object), escaped, name))
      splice.remove_member({0, static_cast<uint32_t>(object.size())}, key, value);
  }
  return splice.empty() ? std::string(object) : splice.apply();
}

}  // namespace lineward::json
