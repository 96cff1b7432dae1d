#include "proxy/upstream/stdio/move_pause.h"

#include <catch2/catch.hpp>

#include "unit/foundation/net/turns.h"

using namespace lineward;
using namespace lineward::upstream;

TEST_CASE(
    "after a worn process was replaced for its listens the next one waits, and the waiter is notified once") {
  net::Loop loop;
  MovePause pause(loop);
  int told = 0;
  auto over = [&] { ++told; };
  CHECK_FALSE(pause.must_wait(over));
  const auto began = loop.now();
  pause.moved();
  CHECK(pause.must_wait(over));
  CHECK(pause.must_wait(over));
  CHECK(net::wait_for(loop, [&] { return told > 0; }));
  CHECK(loop.now() - began >= MovePause::kAtMostEvery);
  CHECK(told == 1);
  CHECK_FALSE(pause.must_wait(over));
}
