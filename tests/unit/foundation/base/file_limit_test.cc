#include "foundation/base/file_limit.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <future>
#include <thread>

using namespace lineward;
using std::chrono::milliseconds;

namespace {

struct Limited {
  Limited() { limit_file_waits(milliseconds(50), milliseconds(10)); }
  ~Limited() { limit_file_waits(milliseconds(0), milliseconds(0)); }
};

// Work that stands until it is let go.
struct Standing {
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  std::function<void()> work = [open = open] { open.wait(); };
};

}  // namespace

TEST_CASE("without a limit work is done where it is called") {
  const auto here = std::this_thread::get_id();
  std::thread::id there;
  CHECK(within_file_limit("/a", [&] { there = std::this_thread::get_id(); }));
  CHECK(there == here);
}

TEST_CASE("work that is done in time leaves its errno") {
  Limited limited;
  limit_file_waits(milliseconds(60000), milliseconds(60000));
  auto done = std::make_shared<std::atomic<bool>>(false);
  CHECK(within_file_limit("/a", [done] {
    *done = true;
    errno = ENOENT;
  }));
  CHECK(errno == ENOENT);
  CHECK(*done);
}

TEST_CASE("a file system that stands still holds nothing up, and is asked again when it answers") {
  Limited limited;
  Standing standing;
  CHECK_FALSE(within_file_limit("/hung", standing.work));
  // Until it answers nothing waits for that file: this work would be done at once.
  auto ran = std::make_shared<std::atomic<bool>>(false);
  CHECK_FALSE(within_file_limit("/hung", [ran] { *ran = true; }));
  CHECK_FALSE(*ran);
  CHECK(file_is_late() == "its file system did not answer within 50 ms");
  standing.gate.set_value();
  limit_file_waits(milliseconds(60000), milliseconds(60000));
  while (!within_file_limit("/hung", [ran] { *ran = true; }))
    std::this_thread::yield();
  CHECK(*ran);
}
