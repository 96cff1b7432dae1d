// Calls of another worker, told apart from those of this one: CallRequest::tag names a call on its own worker
// only, and what is told under a name comes back to who gave it (CancelWatcher).
#pragma once

#include <cstdint>

namespace lineward::core {

// No worker's own tag has it.
inline constexpr uint64_t kRemoteTag = uint64_t{1} << 63;

// 0 is nobody's name, here as there.
constexpr uint64_t remote_tag(uint64_t tag) {
  return tag == 0 ? 0 : tag | kRemoteTag;
}
constexpr bool is_remote(uint64_t tag) {
  return (tag & kRemoteTag) != 0;
}
constexpr uint64_t own_tag(uint64_t tag) {
  return tag & ~kRemoteTag;
}

}  // namespace lineward::core
