// Watches from its own thread whether the loop turns, and reports a stall with a stack. Time is counted in
// this thread's polls, so that a stopped or suspended process is not a stall. The abort limit also excludes
// the time that the loop's thread was ready but got no processor.
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
    std::chrono::milliseconds starved;  // part of it without a processor; 0 if unknown
    std::string stack;                  // frames as object+0xoffset, innermost first, for addr2line
    bool aborting;
  };
  using Report = std::function<void(const Stall&)>;  // called on the watch's own thread

  // Call on the thread that will run the loop, before it runs.
  LoopWatch(Loop& loop, Limits limits, Report report);
  ~LoopWatch();  // on the same thread, while the loop still exists
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

  uint64_t stalls() const { return stalls_.load(std::memory_order_relaxed); }

 private:
  struct Ping;
  void watch();
  std::chrono::milliseconds starved() const;
  bool waits() const;

  const Loop& loop_;
  const uint64_t begun_after_;  // the loop's turn count
  Limits limits_;
  Report report_;
  const int polled_;  // the loop's epoll descriptor
  std::unique_ptr<Ping> ping_;
  std::atomic<uint64_t> stalls_{0};
  unsigned long watched_;  // the loop's thread
  int sched_ = -1;         // its schedstat
  int syscall_ = -1;       // its current system call
  int wake_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace lineward::net
