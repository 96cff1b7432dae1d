// The `requestState` of a parked call, as far as code outside of proxy/exchange/request_state.h reads it.
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/base64url.h"

namespace lineward::core {

inline constexpr std::string_view kParkedPrefix = "lw1.";
// The first bytes after the prefix identify the process that created it, or are the replica_tag() of its
// name.
inline constexpr size_t kParkedBy = 8;

// The identifying bytes, not verified; empty: not such a state.
inline std::string parked_by(std::string_view state) {
  if (state.substr(0, kParkedPrefix.size()) != kParkedPrefix) return {};
  auto bytes = from_base64url(state.substr(kParkedPrefix.size()));
  return bytes && bytes->size() > kParkedBy ? bytes->substr(0, kParkedBy) : std::string();
}

}  // namespace lineward::core
