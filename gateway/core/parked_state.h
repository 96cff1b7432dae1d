// The `requestState` of a parked call, as far as others read it than who made it (exchange/request_state.h).
#pragma once

#include <string>
#include <string_view>

#include "base/base64url.h"

namespace lineward::core {

inline constexpr std::string_view kParkedPrefix = "lw1.";
// The bytes that come first behind it: which process made it, or the replica_tag() of its name.
inline constexpr size_t kParkedBy = 8;

// These bytes, not checked; empty: it is no such state.
inline std::string parked_by(std::string_view state) {
  if (state.substr(0, kParkedPrefix.size()) != kParkedPrefix) return {};
  auto bytes = from_base64url(state.substr(kParkedPrefix.size()));
  return bytes && bytes->size() > kParkedBy ? bytes->substr(0, kParkedBy) : std::string();
}

}  // namespace lineward::core
