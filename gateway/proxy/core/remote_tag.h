// Marks the tags of calls that come from another worker. UpstreamRequest::tag is unique per worker only, and
// CancelWatcher reports by tag to the worker that assigned it.
#pragma once

#include <cstdint>

namespace lineward::core {

// Never set in a worker's own tags.
inline constexpr uint64_t kRemoteTag = uint64_t{1} << 63;

// 0 means no tag, also for a remote call.
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
