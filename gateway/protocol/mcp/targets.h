// The target of a request: the name or URI in its parameters; and size limits for parameters that are stored
// beyond the request.
#pragma once

#include <string>
#include <string_view>

#include "foundation/json/json_scan.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"

namespace lineward::mcp {

// Calls visit(key, value) for each member of an object in a message, at any depth of its values. A deep value
// must not hide the members after it.
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

// Empty, or the target that is not a string. Rules judge names and URIs as text, and servers may convert
// other types: some take ["delete_all"] for "delete_all". A missing target is left to the server.
std::string target_fault(Method method, const Message& message);

inline constexpr size_t kMaxInitializeBytes = 256 * 1024;  // params of `initialize`, stored for a session
inline constexpr size_t kMaxUriBytes = 4096;               // of a subscription, unescaped
inline constexpr size_t kMaxListenBytes = 1 << 20;         // the filter of a listen
inline constexpr size_t kMaxSubscriptions = 1000;          // of a session, and in one listen
// Empty, or the parameter that exceeds its limit: −32600.
std::string size_fault(Method method, const Message& message);

// The params of a request that repeats the subscription or the level.
std::string uri_params(const std::string& uri);
std::string level_params(const Message& set_level);

}  // namespace lineward::mcp
