// Wakes the loop's thread from another thread. The only way into a loop from outside.
#pragma once

#include <functional>
#include <memory>

#include "foundation/base/result.h"
#include "foundation/net/loop.h"

namespace lineward::net {

// Lives on the loop's thread. `woken` is called there once for one or more wake-ups; not after destruction.
class Wakeup {
 public:
  static Result<std::unique_ptr<Wakeup>> create(Loop& loop, std::function<void()> woken);
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // From any thread; the caller keeps this object alive meanwhile.
  void wake();

 private:
  struct State;
  explicit Wakeup(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lineward::net
