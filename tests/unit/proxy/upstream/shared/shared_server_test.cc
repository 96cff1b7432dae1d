#include "proxy/upstream/shared/shared_server.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::upstream;
using std::chrono::milliseconds;

namespace {

EraVerdict modern() {
  EraVerdict verdict;
  verdict.known = true;
  verdict.era = mcp::Era::modern;
  return verdict;
}

}  // namespace

TEST_CASE("workers join the version in effect; after a reload the first begins a new one") {
  SharedServer server;
  const auto first = server.join();
  CHECK(server.join() == first);
  server.publish(first, modern());
  CHECK(server.is_modern());
  REQUIRE(server.verdict());
  server.retire(first);
  CHECK_FALSE(server.is_modern());
  CHECK_FALSE(server.verdict());
  const auto second = server.join();
  CHECK(second != first);
  // The other worker retires the old one later.
  server.retire(first);
  CHECK(server.join() == second);
  server.publish(first, modern());
  CHECK_FALSE(server.is_modern());
}

TEST_CASE("failures at two workers open their one circuit, and one trial is made for both") {
  config::CircuitBreaker limits;
  limits.consecutive_failures = 2;
  limits.open_for = milliseconds(100);
  const auto state = std::make_shared<CircuitBreaker::State>();
  CircuitBreaker here(limits, state), there(limits, state);
  CHECK_FALSE(here.failed(milliseconds(0), "first"));
  CHECK(there.failed(milliseconds(1), "second"));
  CHECK_FALSE(here.closed());
  CHECK(here.why() == "second");
  CHECK_FALSE(here.try_now(milliseconds(50)));
  CHECK(here.try_now(milliseconds(101)));
  CHECK_FALSE(there.try_now(milliseconds(102)));
  here.withdrawn();
  CHECK(there.try_now(milliseconds(103)));
  CHECK(there.close());
  CHECK_FALSE(here.close());
  CHECK(here.closed());
  CHECK(here.failures() == 0);
}
