#include "net/loop_watch.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

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
  std::string stack;
  LoopWatch::Report put() {
    return [this](milliseconds, const std::string& text, bool) {
      std::lock_guard lock(mutex);
      ++count;
      stack = text;
    };
  }
};

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
  CHECK(reports.stack.find("+0x") != std::string::npos);
#endif
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
