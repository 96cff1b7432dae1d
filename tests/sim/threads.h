// The threads of a gateway with several workers. A single one runs at a time, until its loop asks for events
// or it waits for another one; the seed decides the next. Their waits (pthread_cond_*, std::future),
// beginnings and ends are replaced in threads.cc.
//
// Owned by the World; its first thread made it. While there is one thread, nothing of it is used.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fiber.h"

namespace lineward::sim {

class World;

constexpr int kNobody = -1;

class Threads {
 public:
  explicit Threads(World& world);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  bool several() const { return all_.size() > 1; }
  // The number of the working thread; kNobody for the work of clients and servers.
  static int here();
  // All that there were.
  size_t count() const { return all_.size(); }
  // Is this thread one of a world?
  static bool inside();
  // The result of pthread_self() for played threads.
  static pthread_t self_id();
  bool is_alive(size_t number) const {
    return number < all_.size() && all_[number]->state != Thread::State::finished;
  }

  // A loop has nothing to do before this.
  void poll(int64_t deadline);
  // Until the waiters there are woken; false: until the time was over.
  bool wait(const void* where, int64_t until);
  void wake(const void* where);

  // A thread begins; what begun() gives is for the thread itself to go through run().
  struct Thread;
  Thread* begun();
  // All that a thread does; where it is played (fiber.h) it does not return.
  static void run(Thread* thread, const std::function<void()>& work);
  // Done by each thread when its work is.
  std::function<void()> at_end;

  struct Thread {
    enum class State : uint8_t { ready, running, polling, waiting, finished };
    World* world = nullptr;
    int number = 0;
    State state = State::ready;
    int64_t until = 0;
    const void* where = nullptr;
    bool woken = false;
    Fiber fiber;
  };

 private:
  // Others go on until it is this thread's turn again.
  void give_way();
  Thread& next();
  bool is_due(const Thread& thread) const;
  World& world_;
  std::vector<std::unique_ptr<Thread>> all_;
};

}  // namespace lineward::sim
