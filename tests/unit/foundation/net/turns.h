// How tests that have a loop let it run.
#pragma once

#include <chrono>
#include <functional>

#include "foundation/net/loop.h"

namespace lineward::net {

// Runs the deferred work of this turn.
inline void turn(Loop& loop) {
  loop.defer([&loop] { loop.stop(); });
  loop.run();
}

// Until it is so; the limit is for tests that fail.
inline bool wait_for(Loop& loop, const std::function<bool()>& done,
                     std::chrono::milliseconds limit = std::chrono::milliseconds(5000)) {
  Timer look(loop), guard(loop);
  bool met = false;
  std::function<void()> again = [&] {
    met = done();
    if (met) return loop.stop();
    look.start(std::chrono::milliseconds(1), again);
  };
  look.start(std::chrono::milliseconds(0), again);
  guard.start(limit, [&] { loop.stop(); });
  loop.run();
  return met;
}

}  // namespace lineward::net
