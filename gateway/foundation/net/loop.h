// The event loop and its timers: RAII over libuv. Only net/ includes <uv.h>.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "foundation/net/deferred_work.h"
#include "foundation/net/end_of_turn_flush.h"
#include "foundation/net/timer_wheel.h"

struct uv_loop_s;

namespace lineward::net {

using std::chrono::milliseconds;

// The event loop of a thread. Owned by the worker; everything on it must be closed before it is destroyed.
class Loop {
 public:
  Loop();
  ~Loop();  // aborts if a handle is still open
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();  // until stop()
  void stop();
  // Runs deferred work now and frees retired objects. For the end of main.
  void close_deferred() { deferred_.run(); }
  // Runs pending work, then runs until every handle is closed. For the end of main and of tests.
  void close_all();
  milliseconds now() const { return milliseconds(*time_); }  // monotonic, cached per turn
  // Monotonic, not cached. read_at() is the time of the last read on any stream of this loop, in the same
  // clock; 0 if it was not sampled. Only some reads are sampled: reading the clock costs a good part of the
  // measured time.
  static uint64_t nanoseconds();
  uint64_t read_at() const { return read_at_; }
  void note_read() { read_at_ = reads_++ % kReadsUnnoted == 0 ? nanoseconds() : 0; }
  // Number of polls for events. `settled`: all events of the last poll have been processed.
  uint64_t turn() const { return turn_.load(std::memory_order_relaxed); }  // from any thread
  bool settled() const { return settled_; }
  // Durations of turns, without timers, in whole milliseconds of the clock that libuv reads each turn anyway.
  // All other turns took less than 1 ms.
  struct SlowTurns {
    static constexpr std::array<uint64_t, 13> kUpTo{1,   2,   5,    10,   25,   50,   100,
                                                    250, 500, 1000, 2500, 5000, 10000};  // ms
    std::array<uint64_t, kUpTo.size() + 1> counts{};  // the last counts all longer turns
    uint64_t sum = 0;                                 // ms
    uint64_t longest = 0;                             // ms
  };
  const SlowTurns& slow_turns() const { return slow_turns_; }

  // Calls `work` once, after the callbacks of this turn, before the loop sleeps.
  void defer(std::function<void()> work) { deferred_.add(std::move(work)); }
  // The same, unless the object owning `whose` is gone by then.
  void defer(Lifetime& whose, std::function<void()> work) { deferred_.add(whose, std::move(work)); }
  // Frees the object then, after work deferred in the same turn. The only way to free an object that may be
  // on the stack.
  template <class T>
  void retire(std::unique_ptr<T> object) {
    if (object) deferred_.retire([](void* it) { delete static_cast<T*>(it); }, object.release());
  }
  // Releases a shared reference then.
  template <class T>
  void retire(std::shared_ptr<T> object) {
    if (object) retire(std::make_unique<std::shared_ptr<T>>(std::move(object)));
  }

  uv_loop_s* raw() { return loop_.get(); }

 private:
  friend class Timer;
  friend class Deferred;
  friend class ByteStream;
  struct Handles;
  void arm();
  void fire();
  void note_turn();
  std::unique_ptr<uv_loop_s> loop_;
  const uint64_t* time_;  // a member of loop_
  std::unique_ptr<Handles> handles_;
  TimerWheel timers_;
  uint64_t armed_for_ = TimerWheel::kNever;  // when the libuv timer fires, in ms
  bool catching_up_ = false;                 // poll once before firing timers
  DeferredWork deferred_;
  EndOfTurnFlush last_writers_{*this};
  static constexpr uint64_t kReadsUnnoted = 7;  // odd, so that reads of clients and of servers alternate
  uint64_t reads_ = 0;
  uint64_t read_at_ = 0;
  std::atomic<uint64_t> turn_{0};
  bool settled_ = false;
  bool closed_ = false;
  uint64_t polled_at_ = 0;  // ms; 0: not yet
  SlowTurns slow_turns_;
};

// A one-shot timer. All timers of a loop share one libuv handle, so a timer may be destroyed or restarted at
// any moment, even from its own callback.
class Timer : private TimerWheel::Entry {
 public:
  explicit Timer(Loop& loop) : loop_(loop) {}
  ~Timer() { stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start(milliseconds after, std::function<void()> due);  // restarts a running timer
  void stop();
  using TimerWheel::Entry::running;

 private:
  friend class Loop;
  Loop& loop_;
  std::function<void()> due_;
};

}  // namespace lineward::net
