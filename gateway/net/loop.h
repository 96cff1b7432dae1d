// The event loop and its timers: RAII over libuv. Nothing above net/ includes <uv.h>.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

struct uv_loop_s;

namespace lineward::net {

using std::chrono::milliseconds;

// One thread's loop. Owned by the worker; everything on it must be closed before it is destroyed.
class Loop {
 public:
  Loop();
  ~Loop();  // aborts when a handle was left open
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();  // until stop()
  void stop();
  // Runs the deferred work now: frees what was retired. For the end of main.
  void close_deferred() { run_deferred(); }
  // Runs what is pending, then until every handle is closed. For the end of main and of tests.
  void close_all();
  milliseconds now() const;  // monotonic, cached per turn
  // Monotonic, not cached; and the same clock when bytes came in last, on any stream of this loop.
  static uint64_t nanoseconds();
  uint64_t read_at() const { return read_at_; }
  void update_time();

  // Calls `work` once, after the callbacks of this turn, before the loop sleeps. Retired objects are freed
  // here.
  void defer(std::function<void()> work);

  uv_loop_s* raw() { return loop_.get(); }

 private:
  friend class Timer;
  friend class ByteStream;
  struct Handles;
  using TimerKey = std::pair<uint64_t, uint64_t>;  // deadline in ms, sequence
  void arm();
  void fire();
  void run_deferred();
  std::unique_ptr<uv_loop_s> loop_;
  std::unique_ptr<Handles> handles_;
  std::set<std::pair<TimerKey, class Timer*>> timers_;
  std::vector<std::function<void()>> deferred_;
  std::set<class ByteStream*> farewells_;  // streams that only send their last bytes and own themselves
  uint64_t sequence_ = 0;
  uint64_t read_at_ = 0;
  bool firing_ = false;
  bool closed_ = false;
};

// A one-shot timer. No libuv handle of its own: all timers of a loop share one, so it may be destroyed or
// restarted at any moment, also from inside its own callback.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(loop) {}
  ~Timer() { stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start(milliseconds after, std::function<void()> due);  // restarts when running
  void stop();
  bool running() const { return running_; }

 private:
  friend class Loop;
  Loop& loop_;
  Loop::TimerKey key_{};
  std::function<void()> due_;
  bool running_ = false;
};

}  // namespace lineward::net
