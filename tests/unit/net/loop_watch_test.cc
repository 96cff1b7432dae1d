#include "net/loop_watch.h"

#include <sched.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitized.h"
#include "net/loop.h"

using lineward::net::Loop;
using lineward::net::LoopWatch;
using lineward::net::Timer;
using std::chrono::milliseconds;

namespace {

struct Reports {
  std::mutex mutex;
  int count = 0;
  LoopWatch::Stall last{};
  LoopWatch::Report put() {
    return [this](const LoopWatch::Stall& stall) {
      std::lock_guard lock(mutex);
      ++count;
      last = stall;
    };
  }
};

// Several threads that never rest, on one processor with the caller's.
class Rivals {
 public:
  explicit Rivals(int count) {
    sched_getaffinity(0, sizeof(before_), &before_);
    int first = 0;
    while (!CPU_ISSET(first, &before_))
      ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof(one), &one);  // threads inherit it
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this] {
        while (!over_.load(std::memory_order_relaxed)) {
        }
      });
  }
  ~Rivals() {
    over_ = true;
    for (auto& thread : threads_)
      thread.join();
    sched_setaffinity(0, sizeof(before_), &before_);
  }

 private:
  cpu_set_t before_{};
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

// A kernel that does not count says "0 0 0", or has no such file.
bool kernel_tells() {
  std::string numbers;
  std::getline(std::ifstream("/proc/self/schedstat"), numbers);
  return !numbers.empty() && numbers != "0 0 0";
}

}  // namespace

TEST_CASE("a loop that is held up is told once, with a stack") {
  Loop loop;
  Reports reports;
  {
    LoopWatch watch(loop, {milliseconds(100), milliseconds(0)}, reports.put());
    Timer begin(loop), held(loop), end(loop);
    // Before its first poll the loop does not run yet.
    begin.start(milliseconds(0), [&] {
      held.start(milliseconds(5), [&] {
        // Until it was told, however busy the machine is.
        while (watch.stalls() == 0)
          std::this_thread::sleep_for(milliseconds(1));
        std::this_thread::sleep_for(milliseconds(300));
      });
      end.start(milliseconds(6), [&] { loop.stop(); });
    });
    loop.run();
    CHECK(watch.stalls() == 1);
  }
  CHECK(reports.count == 1);
#ifndef LW_THREAD_SANITIZER
  CHECK(reports.last.stack.find("+0x") != std::string::npos);
#endif
  loop.close_all();
}

TEST_CASE("a loop that gets no processor is told as held up, and not ended for it") {
  if (!kernel_tells()) return;  // then nobody can tell the two apart
  Loop loop;
  Reports reports;
  {
    LoopWatch watch(loop, {milliseconds(100), milliseconds(400)}, reports.put());
    Timer begin(loop), held(loop), end(loop);
    begin.start(milliseconds(0), [&] {
      held.start(milliseconds(5), [&] {
        Rivals rivals(5);
        auto until = std::chrono::steady_clock::now() + milliseconds(900);
        while (std::chrono::steady_clock::now() < until) {
        }
      });
      end.start(milliseconds(6), [&] { loop.stop(); });
    });
    loop.run();
  }
  CHECK(reports.count == 1);
  CHECK(reports.last.starved > reports.last.held_up / 5);
  loop.close_all();
}

TEST_CASE("a loop that waits is not held up") {
  Loop loop;
  Reports reports;
  {
    LoopWatch watch(loop, {milliseconds(50), milliseconds(0)}, reports.put());
    Timer end(loop);
    end.start(milliseconds(400), [&] { loop.stop(); });
    loop.run();
  }
  CHECK(reports.count == 0);
  loop.close_all();
}
