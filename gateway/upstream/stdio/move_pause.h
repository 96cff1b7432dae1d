// How often worn processes are replaced where nobody but those who listen needs the next one: each is wanted
// as soon as the one before it is worn, so that without a pause they would follow each other as fast as they
// start.
//
// Owned by an InstanceGroup.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "net/loop.h"

namespace lineward::upstream {

class MovePause {
 public:
  static constexpr std::chrono::milliseconds kAtMostEvery{1000};

  explicit MovePause(net::Loop& loop) : loop_(loop), wake_(loop) {}
  MovePause(const MovePause&) = delete;
  MovePause& operator=(const MovePause&) = delete;

  // The next one was started.
  void moved() { not_before_ = loop_.now() + kAtMostEvery; }
  // None may be started yet; `over` is called when it may.
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
