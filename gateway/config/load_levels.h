// Where listen.maxBufferedBytes begins to bite (docs/limits.md).
#pragma once

#include <cstdint>

#include "config/config.h"

namespace lineward::config {

enum class Load : uint8_t {
  normal,
  no_streams,   // from 85 % on
  no_requests,  // from 95 % on; and who takes least of its answers is cut
  full          // bodies are cut off
};

inline Load load_of(uint64_t held, const Listen& listen) {
  const uint64_t most = listen.max_buffered_bytes;
  if (most == 0 || held < most / 100 * 85) return Load::normal;
  if (held < most / 100 * 95) return Load::no_streams;
  return held < most ? Load::no_requests : Load::full;
}

}  // namespace lineward::config
