#include "proxy/core/mirrors.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace lineward::core {
namespace {

using mcp::Field;

bool is_mirror(const HeaderFields::value_type& header) {
  return repeats_argument(header.first);
}

size_t both(std::string_view one, std::string_view other) {
  const std::hash<std::string_view> hash;
  return hash(one) * 31 + hash(other);
}

}  // namespace

// Only the server's tool list says which arguments of a tool are repeated, so an absent header may be stale
// too. For other methods only headers that are present can be stale.
Mirrors::Mirrors(bool made_by_client, mcp::Method method, const mcp::Message& message,
                 const HeaderFields& headers)
    : is_tools_call_(method == mcp::Method::tools_call) {
  if (made_by_client && (is_tools_call_ || std::any_of(headers.begin(), headers.end(), is_mirror)))
    before_ = digest(message);
}

// Never includes `_meta`, which plugins change without touching an argument: `trace` does so for every
// message.
size_t Mirrors::digest(const mcp::Message& message) const {
  if (is_tools_call_) return both(message.raw(Field::params_name), message.raw(Field::params_arguments));
  const std::string_view params = message.raw(Field::params);
  if (!message.has(Field::params_meta)) return both(params, {});
  const size_t begin = message.at(Field::params_meta).begin - message.at(Field::params).begin;
  return both(params.substr(0, begin), params.substr(begin + message.raw(Field::params_meta).size()));
}

bool Mirrors::drop_stale(const mcp::Message& message, SharedFields& headers) const {
  if (!before_ || digest(message) == *before_) return false;
  HeaderFields kept = headers;
  std::erase_if(kept, is_mirror);
  headers = std::move(kept);
  return true;
}

}  // namespace lineward::core
