// Looks from a thread of its own whether the loop still turns, and tells with a stack when it does not. Time
// counts in looks of that thread, so that a stopped or suspended process has not held up anything; for an end
// it does not count either how long the loop's thread was ready and got no processor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace lineward::net {

class Loop;

class LoopWatch {
 public:
  struct Limits {
    std::chrono::milliseconds warn{100};
    std::chrono::milliseconds abort{0};  // 0: never
  };
  struct Stall {
    std::chrono::milliseconds held_up;
    std::chrono::milliseconds starved;  // of these, without a processor; 0 where the kernel does not say
    std::string stack;                  // frames as object+0xoffset, innermost first, for addr2line
    bool aborting;
  };
  using Report = std::function<void(const Stall&)>;  // on the watch's own thread

  // On the thread that will run the loop, before it does.
  LoopWatch(Loop& loop, Limits limits, Report report);
  ~LoopWatch();  // on the same thread, while the loop is still there
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

  uint64_t stalls() const { return stalls_.load(std::memory_order_relaxed); }

 private:
  struct Ping;
  void watch();
  std::chrono::milliseconds starved() const;

  const Loop& loop_;
  const uint64_t begun_after_;  // the loop's turns
  Limits limits_;
  Report report_;
  std::unique_ptr<Ping> ping_;
  std::atomic<uint64_t> stalls_{0};
  unsigned long watched_;  // the loop's thread
  int sched_ = -1;         // what the kernel says of it
  int wake_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace lineward::net
