#include "proxy/plugin/header_rules.h"

#include <algorithm>
#include <initializer_list>

#include "config/forward_rules.h"
#include "protocol/http/char_class.h"
#include "protocol/http/header_list.h"

namespace lineward::plugin {
namespace {

constexpr size_t kMaxName = 128;
constexpr size_t kMaxValue = 8192;

bool legal(std::string_view name, std::string_view value) {
  return !name.empty() && name.size() <= kMaxName && value.size() <= kMaxValue &&
         std::all_of(name.begin(), name.end(), http::is_tchar) &&
         std::none_of(value.begin(), value.end(), [](char c) { return http::is_control(c) && c != '\t'; });
}

bool among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view one) { return http::equals_ignoring_case(one, name); });
}

bool frames(std::string_view name) {
  return config::is_own_header(name) || among(name, {"date", "mcp-session-id", "mcp-protocol-version"});
}

}  // namespace

bool may_set_upstream_header(std::string_view name, std::string_view value) {
  return legal(name, value) && !frames(name) && !among(name, {"mcp-method", "mcp-name"});
}

bool may_set_reply_header(std::string_view name, std::string_view value) {
  return legal(name, value) && !frames(name);
}

}  // namespace lineward::plugin
