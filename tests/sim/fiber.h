// Who goes on: each thread of a world is a fiber, and one of them runs. One of the kernel's threads plays
// them all (kPlayed): a fiber has a stack, and what the program keeps for each thread (thread_local) is
// exchanged when another one goes on, which takes a twentieth of what it takes to ask the kernel for it. Kept
// in common is what libraries keep for a thread: errno, an allocator's lists, OpenSSL's queue of errors.
//
// On other processors, or where a sanitizer would lose sight, each is a thread of the kernel's that waits for
// its turn.
#pragma once

#include <semaphore.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "sanitized.h"

namespace lineward::sim {

#if !LINEWARD_SIM_SANITIZED && defined(__x86_64__) && defined(__linux__)
#define LINEWARD_SIM_PLAYS 1
#else
#define LINEWARD_SIM_PLAYS 0
#endif
constexpr bool kPlayed = LINEWARD_SIM_PLAYS;

class Fiber {
 public:
  // Of what runs now, or will.
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // kPlayed: `work` begins when somebody passes to it, with nothing in what is kept for each thread; its last
  // is leave().
  void begin(void (*work)(void*), void* with);
  // Else: what a thread that has begun does first; returns when somebody passes to it.
  void enter();
  // From the one that runs to another one; returns when somebody passes to `from` again.
  static void pass(Fiber& from, Fiber& to);
  // The last that the one that runs does as a fiber: `to` goes on. Where it is played it does not return,
  // else the thread goes on beside it, to its end.
  void leave(Fiber& to);
  // kPlayed: what was kept for this thread ends, the last one first.
  static void end_own();

 private:
#if LINEWARD_SIM_PLAYS
  void keep_and_bring(Fiber& to);
  void arrive();

  void* stack_at_ = nullptr;          // where it goes on
  std::unique_ptr<std::byte[]> own_;  // what is kept for it while it does not run
  struct {
    void* caught = nullptr;
    unsigned thrown = 0;
  } exceptions_;
  void* stack_ = nullptr;  // its own, where it has one
  void (*work_)(void*) = nullptr;
  void* with_ = nullptr;
#else
  sem_t baton_;
#endif
};

// On a thread that begins and ends here.
void on_own_thread(const std::function<void()>& work);

}  // namespace lineward::sim
