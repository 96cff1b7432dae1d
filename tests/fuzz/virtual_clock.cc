#include "virtual_clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace {

std::atomic<int64_t> now_ms{1'000'000};

}  // namespace

namespace lineward::fuzz {

void advance_clock(std::chrono::milliseconds by) {
  now_ms += by.count();
}

}  // namespace lineward::fuzz

// The executable's symbol comes before the C library's, also for shared libraries.
extern "C" int clock_gettime(clockid_t id, struct timespec* at) noexcept {
  if (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE)
    return static_cast<int>(syscall(SYS_clock_gettime, id, at));
  const int64_t now = now_ms;
  at->tv_sec = now / 1000;
  at->tv_nsec = now % 1000 * 1'000'000;
  return 0;
}
