#include "foundation/net/signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using lineward::net::Loop;
using lineward::net::SignalWatch;

namespace {

// A process that watches for TERM, and gets signals after its watch.
[[noreturn]] void end_like_the_gateway() {
  int heard = 0;
  Loop loop;
  {
    SignalWatch watch(loop, SIGTERM, [&] {
      ++heard;
      loop.stop();
    });
    raise(SIGTERM);
    loop.run();
    lineward::net::ignore_signals({SIGINT, SIGTERM, SIGHUP});
    raise(SIGTERM);  // with its watch still there
  }
  loop.close_all();
  for (const int late : {SIGINT, SIGTERM, SIGHUP})
    raise(late);
  _exit(heard == 1 ? 0 : 1);
}

}  // namespace

TEST_CASE("a signal that comes when a process has come to its end does not change how it ends") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) end_like_the_gateway();
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(status == 0);
}
