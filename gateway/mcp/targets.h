// What a request is about: the name or the URI in its parameters; and how large that may be of it which is
// kept for longer than it lasts.
#pragma once

#include <string>
#include <string_view>

#include "json/json_scan.h"
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

inline constexpr size_t kMaxInitializeBytes = 256 * 1024;  // params of `initialize`, kept for a session
inline constexpr size_t kMaxUriBytes = 4096;               // of a subscription, unescaped
inline constexpr size_t kMaxListenBytes = 1 << 20;         // the filter of a listen
inline constexpr size_t kMaxSubscriptions = 1000;          // of a session, and in one listen
// Empty, or what of it is larger than what is kept for anybody: −32600.
std::string size_fault(Method method, const Message& message);

// The params of the request that asks for the same again.
std::string uri_params(const std::string& uri);
std::string level_params(const Message& set_level);

}  // namespace lineward::mcp
