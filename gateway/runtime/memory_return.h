// Returns memory to the system after the start and after a load peak. The C library keeps freed memory of
// connections and large messages, and most of it is never needed again. Checks once a second, and trims only
// after a large fall, since trimming walks the whole heap.
//
// Each worker has one, counting its own connections; trimming affects the whole process. Destroyed before its
// loop.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "foundation/process/code_pages.h"

namespace lineward::runtime {

class MemoryReturn {
 public:
  struct Connections {
    size_t now = 0;
    size_t most = 0;  // since the last check
  };
  MemoryReturn(net::Loop& loop, std::function<Connections()> connections)
      : connections_(std::move(connections)), timer_(loop) {
    watch();
  }

 private:
  static constexpr std::chrono::milliseconds kEvery{1000};
  static constexpr size_t kConnections = 1000;
  static constexpr uint32_t kAgain = 10;  // checks
  static constexpr uint64_t kBytes = 4 << 20;

  void watch() {
    timer_.start(kEvery, [this] {
      watch();
      const Connections connections = connections_();
      const uint64_t bytes = MemoryCharge::total();
      most_connections_ = std::max(most_connections_, connections.most);
      most_bytes_ = std::max(most_bytes_, MemoryCharge::take_most());
      bool fell = most_connections_ >= connections.now + kConnections || most_bytes_ >= bytes + kBytes;
      if (fell) {
        most_connections_ = connections.now;
        most_bytes_ = bytes;
      }
      // Trims again at the next check, when the last connections are closed, and after kAgain checks, when
      // cancelled calls are forgotten.
      if (fell) again_ = kAgain;
      const bool later = !fell && again_ > 0 && (again_-- == kAgain || again_ == 0);
#ifdef __GLIBC__
      if (fell || later) malloc_trim(0);
#endif
      if (std::exchange(started_, false) || later) process::unmap_code_pages();
    });
  }

  std::function<Connections()> connections_;
  net::Timer timer_;
  size_t most_connections_ = 0;
  uint64_t most_bytes_ = 0;
  uint32_t again_ = 0;
  bool started_ = true;  // since the last check
};

}  // namespace lineward::runtime
