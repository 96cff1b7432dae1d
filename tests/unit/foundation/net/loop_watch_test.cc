#include "foundation/net/loop_watch.h"

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "foundation/base/sanitized.h"
#include "foundation/net/loop.h"

using lineward::net::Loop;
using lineward::net::LoopWatch;
using lineward::net::Timer;
using std::chrono::milliseconds;

namespace {

struct Reports {
  std::mutex mutex;
  std::vector<LoopWatch::Stall> all;
  LoopWatch::Report put() {
    return [this](const LoopWatch::Stall& stall) {
      std::lock_guard lock(mutex);
      all.push_back(stall);
    };
  }
  bool any(const std::function<bool(const LoopWatch::Stall&)>& fits) {
    std::lock_guard lock(mutex);
    return std::any_of(all.begin(), all.end(), fits);
  }
};

// Holds the loop up until that was told: on a busy machine once may not be enough.
void hold_up(Loop& loop, const std::function<void()>& hold, const std::function<bool()>& told) {
  Timer next(loop);
  int left = 20;
  std::function<void()> again = [&] {
    hold();
    if (told() || --left == 0) return loop.stop();
    next.start(milliseconds(5), again);
  };
  // Before its first poll the loop does not run yet.
  next.start(milliseconds(0), [&] { next.start(milliseconds(5), again); });
  loop.run();
}

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
    const auto hold = [&] {
      // Until it was told, however busy the machine is; that may have held it up before.
      const auto before = watch.stalls();
      while (watch.stalls() == before)
        std::this_thread::sleep_for(milliseconds(1));
      std::this_thread::sleep_for(milliseconds(300));
      CHECK(watch.stalls() == before + 1);
    };
    const auto has_stack = [](const LoopWatch::Stall& stall) {
#ifdef LW_THREAD_SANITIZER
      static_cast<void>(stall);
      return true;
#else
      return stall.stack.find("+0x") != std::string::npos;
#endif
    };
    hold_up(loop, hold, [&] { return reports.any(has_stack); });
    CHECK(reports.any(has_stack));
  }
  loop.close_all();
}

TEST_CASE("a loop that gets no processor is told as held up, and not ended for it") {
  if (!kernel_tells()) return;  // then the two look the same
  Loop loop;
  Reports reports;
  {
    LoopWatch watch(loop, {milliseconds(100), milliseconds(400)}, reports.put());
    const auto hold = [] {
      Rivals rivals(5);
      auto until = std::chrono::steady_clock::now() + milliseconds(900);
      while (std::chrono::steady_clock::now() < until) {
      }
    };
    // The kernel counts a wait when it is over.
    const auto starved = [](const LoopWatch::Stall& stall) { return stall.starved > stall.held_up / 5; };
    hold_up(loop, hold, [&] { return reports.any(starved); });
    CHECK(reports.any(starved));
  }
  loop.close_all();
}

TEST_CASE("a loop that waits for other events in a callback is held up") {
  Loop loop;
  Reports reports;
  const int other = epoll_create1(EPOLL_CLOEXEC);
  REQUIRE(other >= 0);
  {
    LoopWatch watch(loop, {milliseconds(100), milliseconds(0)}, reports.put());
    const auto hold = [&] {
      epoll_event none{};
      epoll_wait(other, &none, 1, 400);
    };
    hold_up(loop, hold, [&] { return watch.stalls() > 0; });
    CHECK(watch.stalls() > 0);
  }
  close(other);
  loop.close_all();
}

TEST_CASE("a loop that waits is not held up") {
  Loop loop;
  Reports reports;
  {
    LoopWatch watch(loop, {milliseconds(200), milliseconds(0)}, reports.put());
    Timer end(loop);
    end.start(milliseconds(700), [&] { loop.stop(); });
    loop.run();
  }
  CHECK(reports.all.empty());
  loop.close_all();
}

TEST_CASE("a loop that waits is not woken by its watch") {
  if (!std::ifstream("/proc/self/syscall")) return;  // then it has to be asked
  Loop loop;
  Reports reports;
  uint64_t turns = 0;
  {
    LoopWatch watch(loop, {milliseconds(200), milliseconds(0)}, reports.put());
    Timer end(loop);
    end.start(milliseconds(700), [&] {
      turns = loop.turn();
      loop.stop();
    });
    loop.run();
  }
  CHECK(turns < 10);  // with a question at every other look: 15
  loop.close_all();
}
