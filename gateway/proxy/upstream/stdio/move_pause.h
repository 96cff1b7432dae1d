// Limits how often expired processes are replaced when only listens need the next one. Each replacement is
// needed as soon as its predecessor expires, so without a pause they would follow each other as fast as they
// start.
//
// Owned by an InstanceGroup.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "foundation/net/loop.h"

namespace lineward::upstream {

class MovePause {
 public:
  static constexpr std::chrono::milliseconds kAtMostEvery{1000};

  explicit MovePause(net::Loop& loop) : loop_(loop), wake_(loop) {}
  MovePause(const MovePause&) = delete;
  MovePause& operator=(const MovePause&) = delete;

  // A replacement was started.
  void moved() { not_before_ = loop_.now() + kAtMostEvery; }
  // True: none may be started yet; `over` is called when one may.
  bool must_wait(std::function<void()> over) {
    if (loop_.now() >= not_before_) return false;
    if (!wake_.running()) wake_.start(not_before_ - loop_.now(), std::move(over));
    return true;
  }

 private:
  net::Loop& loop_;
  std::chrono::milliseconds not_before_{0};
  net::Timer wake_;
};

}  // namespace lineward::upstream
