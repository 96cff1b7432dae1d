// The running thread: each thread of a world is a fiber, and one of them runs. A single thread of the kernel
// plays them all (kPlayed). Each fiber has a stack and its thread_local data, which is exchanged at a switch;
// that takes a twentieth of a switch by the kernel. Kept in common is what libraries keep for a thread:
// errno, an allocator's lists, OpenSSL's queue of errors.
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
  // The fiber of the running thread, or of a new one.
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // kPlayed: `work` begins when another fiber passes to it, with empty thread_local data; its last is
  // leave().
  void begin(void (*work)(void*), void* with);
  // Else: the first step of a thread that has begun; returns when another fiber passes to it.
  void enter();
  // From the running fiber to another one; returns when a fiber passes to `from` again.
  static void pass(Fiber& from, Fiber& to);
  // The last that the one that runs does as a fiber: `to` goes on. A played one does not return, else the
  // thread goes on beside it, to its end.
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
