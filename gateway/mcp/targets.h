// What a request is about: the name or the URI in its parameters.
#pragma once

#include <string>
#include <string_view>

#include "base/json_scan.h"
#include "mcp/message.h"
#include "mcp/methods.h"

namespace lineward::mcp {

// Calls visit(key, value) for each member of an object in a message, however deep its values are: what stands
// behind a deep one must not go unjudged.
template <class F>
void for_each_param(std::string_view object, F&& visit) {
  json::Cursor cursor(object, json::kDepthCeiling);
  if (!cursor.at_object() || !cursor.enter_object()) return;
  json::Span key, value;
  bool escaped = false;
  while (cursor.next_key(key, escaped)) {
    std::string name = escaped ? json::unescape(key.in(object)) : std::string(key.in(object));
    if (!cursor.skip(value)) return;
    visit(name, value.in(object));
  }
}

// Empty, or which of them is there and no string. Rules judge names and URIs as text, and what a server makes
// of anything else nobody knows: ["delete_all"] is "delete_all" to some. One that is missing is for the
// server to miss.
std::string target_fault(Method method, const Message& message);

}  // namespace lineward::mcp
