#include <unistd.h>
#include <uv.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "foundation/net/loop.h"

using lineward::net::Loop;
using lineward::net::Timer;
using std::chrono::milliseconds;

namespace {

// A pipe; its first byte is an event.
struct Pipe {
  int ends[2] = {-1, -1};
  uv_poll_t watch{};
  std::function<void()> came;
  Pipe(Loop& loop, std::function<void()> on_byte) : came(std::move(on_byte)) {
    REQUIRE(pipe(ends) == 0);
    REQUIRE(uv_poll_init(loop.raw(), &watch, ends[0]) == 0);
    watch.data = this;
    uv_poll_start(&watch, UV_READABLE, [](uv_poll_t* h, int, int) {
      uv_poll_stop(h);
      static_cast<Pipe*>(h->data)->came();
    });
  }
  void put() const { REQUIRE(write(ends[1], "x", 1) == 1); }
  void close_it() {
    uv_close(reinterpret_cast<uv_handle_t*>(&watch), nullptr);
    close(ends[0]);
    close(ends[1]);
  }
};

}  // namespace

TEST_CASE("after a standstill, what came meanwhile is read before limits are judged") {
  Loop loop;
  std::string order;
  Pipe answer(loop, [&] { order += "answer "; });
  Timer limit(loop);
  Pipe standstill(loop, [&] {
    limit.start(milliseconds(100), [&] {
      order += "limit";
      loop.stop();
    });
    answer.put();
    std::this_thread::sleep_for(milliseconds(200));
  });
  standstill.put();
  loop.run();
  REQUIRE(order == "answer limit");
  answer.close_it();
  standstill.close_it();
  loop.close_all();
}

TEST_CASE("a turn that takes long is noted, the wait for events is not") {
  Loop loop;
  Timer later(loop);
  Pipe pipe(loop, [&] {
    std::this_thread::sleep_for(milliseconds(30));          // what came is dealt with
    later.start(milliseconds(1000), [&] { loop.stop(); });  // and then there is nothing to do for a while
  });
  pipe.put();
  loop.run();
  const Loop::SlowTurns& slow = loop.slow_turns();
  CHECK(slow.longest >= 29);
  CHECK(slow.longest < 900);
  CHECK(slow.sum >= slow.longest);
  uint64_t noted = 0;
  for (uint64_t count : slow.counts)
    noted += count;
  CHECK(noted >= 1);
  CHECK(noted <= loop.turn());
  pipe.close_it();
  loop.close_all();
}
