// Load levels of listen.maxBufferedBytes (docs/limits.md).
#pragma once

#include <algorithm>
#include <cstdint>

#include "config/config.h"

namespace lineward::config {

enum class Load : uint8_t {
  normal,
  no_streams,   // from 85 %
  no_requests,  // from 95 %, except small requests; the client that reads least of its answers is cut
  no_bodies,    // from 98 %: bodies are aborted, except small ones
  full
};

inline Load load_of(uint64_t held, const Listen& listen) {
  const uint64_t most = listen.max_buffered_bytes;
  if (most == 0 || held < most / 100 * 85) return Load::normal;
  if (held < most / 100 * 95) return Load::no_streams;
  if (held < most / 100 * 98) return Load::no_requests;
  return held < most ? Load::no_bodies : Load::full;
}

// Negligible within a budget of this size.
inline bool is_small(uint64_t bytes, uint64_t budget) {
  return bytes <= std::min<uint64_t>(16 * 1024, budget / 10000);
}

// Whether a request of `bytes` is admitted. The last part of the budget is reserved for small requests, so
// that a flood of large ones cannot exclude them.
inline bool has_room(Load load, uint64_t bytes, const Listen& listen) {
  const bool small = is_small(bytes, listen.max_buffered_bytes);
  return load < (small ? Load::full : Load::no_requests);
}

}  // namespace lineward::config
