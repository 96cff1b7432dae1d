#include "proxy/upstream/http/http_health.h"

#include <catch2/catch.hpp>
#include <chrono>

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;
using std::chrono::milliseconds;

namespace {

struct World {
  World() {
    server.name = "health";
    server.circuit_breaker.consecutive_failures = 2;
    server.circuit_breaker.open_for = milliseconds(50);
  }
  void fail(EndReason reason = EndReason::upstream_unreachable, bool probe = false, int status = 0) {
    core::Failure failure{reason, "health is away"};
    failure.server_status = status;
    health.failed(failure, probe);
  }
  void open() {
    fail();
    fail();
    REQUIRE_FALSE(health.circuit_closed());
  }
  void until_half_open() {
    net::Timer timer(loop);
    timer.start(health.open_for() + milliseconds(1), [&] { loop.defer([&] { loop.stop(); }); });
    loop.run();
    auto probe = health.admit();
    REQUIRE(probe);
    CHECK(*probe);
  }

  net::Loop loop;
  config::Server server;
  HttpHealth health{loop, server, nullptr};
};

}  // namespace

TEST_CASE("failures in a row open the circuit, and calls are refused then") {
  World world;
  world.fail();
  auto admitted = world.health.admit();
  REQUIRE(admitted);
  CHECK_FALSE(*admitted);
  world.fail();
  admitted = world.health.admit();
  REQUIRE_FALSE(admitted);
  CHECK(admitted.error().reason == EndReason::circuit_open);
  CHECK(world.health.why() == "health is away");
}

TEST_CASE("whatever the server says ends the row, what its caller or Lineward decided says nothing") {
  World world;
  world.fail();
  SECTION("an answer") {
    world.health.answered();
    world.fail();
    CHECK(world.health.circuit_closed());
  }
  SECTION("a refusal") {
    world.fail(EndReason::upstream_protocol, false, 404);
    world.fail();
    CHECK(world.health.circuit_closed());
  }
  SECTION("a status that says that it is broken") {
    world.fail(EndReason::upstream_protocol, false, 500);
    world.fail();
    CHECK_FALSE(world.health.circuit_closed());
  }
  SECTION("a limit") {
    world.fail(EndReason::timeout_request);
    world.fail();
    CHECK_FALSE(world.health.circuit_closed());
  }
}

TEST_CASE("the one call that is tried decides, others that were under way do not") {
  World world;
  world.open();
  world.until_half_open();
  CHECK_FALSE(world.health.admit());
  SECTION("another one fails") {
    world.fail();
    CHECK(world.health.open_for() == milliseconds(0));
  }
  SECTION("it fails: for as long again") {
    world.fail(EndReason::upstream_unreachable, true);
    CHECK(world.health.open_for() == milliseconds(50));
  }
  SECTION("its caller leaves: the next one is tried") {
    world.health.probe_withdrawn();
    CHECK(world.health.admit());
  }
  SECTION("its own limit ends it: so it is too") {
    world.fail(EndReason::timeout_request, true);
    CHECK(world.health.admit());
  }
  SECTION("it is answered") {
    world.health.answered();
    CHECK(world.health.circuit_closed());
  }
  SECTION("it is refused: the server is there") {
    world.fail(EndReason::upstream_protocol, true, 403);
    CHECK(world.health.circuit_closed());
  }
}

TEST_CASE("what fails while the gateway stops is its own doing") {
  World world;
  world.health.stop();
  for (int i = 0; i < 10; ++i)
    world.fail();
  CHECK(world.health.circuit_closed());
}
