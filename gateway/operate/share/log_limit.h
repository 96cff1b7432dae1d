// Bounds the log of a shared gateway: stderr is a file without rotation. A log that has become too long
// begins anew.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "foundation/net/loop.h"

namespace lineward::share {

class LogLimit {
 public:
  explicit LogLimit(net::Loop& loop) : timer_(loop) { look_later(); }

 private:
  static constexpr off_t kMost = 1 << 20;
  static constexpr std::chrono::milliseconds kEvery{10'000};

  void look_later() {
    timer_.start(kEvery, [this] {
      struct stat now {};
      const bool is_file = fstat(STDERR_FILENO, &now) == 0 && S_ISREG(now.st_mode);
      if (is_file && now.st_size > kMost && ftruncate(STDERR_FILENO, 0) != 0) return;  // not again
      look_later();
    });
  }
  net::Timer timer_;
};

}  // namespace lineward::share
