// Marks the tags of calls that come from another worker with that worker. UpstreamRequest::tag is unique per
// worker only, and CancelWatcher reports by tag to the worker that assigned it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lineward::core {

// Never set in a worker's own tags, which have at most 56 bits.
inline constexpr uint64_t kRemoteTag = uint64_t{1} << 63;
inline constexpr int kTagBits = 56;

// `worker`: the caller's, below 128 (`workers` is 64 at most). 0 means no tag, also for a remote call.
constexpr uint64_t remote_tag(uint64_t tag, size_t worker) {
  return tag == 0 ? 0 : tag | (uint64_t{worker} << kTagBits) | kRemoteTag;
}
constexpr bool is_remote(uint64_t tag) {
  return (tag & kRemoteTag) != 0;
}
constexpr size_t caller_of(uint64_t tag) {
  return static_cast<size_t>((tag & ~kRemoteTag) >> kTagBits);
}
constexpr uint64_t own_tag(uint64_t tag) {
  return tag & ((uint64_t{1} << kTagBits) - 1);
}

}  // namespace lineward::core
