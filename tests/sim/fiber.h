// Who goes on: each thread of a world is a fiber, and one of them runs. A thread's stack and what it keeps
// for itself (thread_local) are lent to the kernel's thread that comes by, for a switch by the kernel costs
// thirty times as much; its own waits meanwhile, and gets them back for its end. On other processors, or
// where a sanitizer would lose sight, each goes on by its own thread and a semaphore.
#pragma once

#include <semaphore.h>

#include <memory>

namespace lineward::sim {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // What a thread that has begun does first: returns when somebody passes to it.
  void enter();
  // From the one that runs to another one; returns when somebody passes to `from` again.
  static void pass(Fiber& from, Fiber& to);
  // The last that the one that runs does as a fiber: `to` goes on, and beside it this thread, to its end.
  void leave(Fiber& to);

 private:
  struct Lent;
  void park();
  void arrive();
  static void run_to(Fiber& from, Fiber& to);

  sem_t baton_;  // of the thread itself: it has its stack back
  std::unique_ptr<Lent> lent_;
};

}  // namespace lineward::sim
