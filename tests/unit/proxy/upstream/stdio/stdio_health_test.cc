#include "proxy/upstream/stdio/stdio_health.h"

#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;
using std::chrono::milliseconds;

namespace {

ProcessEnd ended(std::string text, EndReason reason = EndReason::upstream_exited) {
  ProcessEnd end;
  end.reason = reason;
  end.text = std::move(text);
  return end;
}

struct World {
  World() {
    server.name = "health";
    server.circuit_breaker.consecutive_failures = 3;
    server.circuit_breaker.open_for = milliseconds(200);
    server.restart.backoff = server.restart.max_backoff = milliseconds(60000);
  }
  // A process that was ready and had answered.
  InstanceRecord lived(bool served) {
    InstanceRecord record;
    record.started_at = loop.now();
    record.was_ready = record.has_answered = true;
    record.has_served = served;
    return record;
  }
  void die(int times, bool served = true) {
    for (int i = 0; i < times; ++i)
      health.died(lived(served), ended("exited with code 3"));
  }
  void until_half_open() {
    net::Timer timer(loop);
    timer.start(health.open_for() + milliseconds(1), [&] { loop.defer([&] { loop.stop(); }); });
    loop.run();
  }

  net::Loop loop;
  config::Server server;
  std::vector<core::Failure> opened;
  StdioHealth health{loop, server, [this](const core::Failure& refusal) { opened.push_back(refusal); }};
};

}  // namespace

TEST_CASE("deaths in a row open the circuit, and its owner hears of it from the loop, once") {
  World world;
  world.die(2);
  CHECK(world.health.circuit_closed());
  world.die(1);
  CHECK_FALSE(world.health.circuit_closed());
  CHECK(world.opened.empty());  // a group may be on the stack
  world.die(2);
  world.loop.close_deferred();
  REQUIRE(world.opened.size() == 1);
  CHECK(world.opened[0].reason == EndReason::circuit_open);
  CHECK(world.opened[0].text.find("exited with code 3") != std::string::npos);
  CHECK(world.opened[0].retry_after_ms == 200);
  CHECK(world.health.why() == "exited with code 3");
}

TEST_CASE("its owner hears nothing of a circuit that was closed again in the same turn") {
  World world;
  world.die(3);
  world.health.answered(HealthSignal::work);
  world.loop.close_deferred();
  CHECK(world.opened.empty());
}

TEST_CASE("an answer ends the row of failures") {
  World world;
  world.die(2);
  world.health.call_answered(world.loop.now());
  world.die(2);
  CHECK(world.health.circuit_closed());
  world.die(1);
  CHECK_FALSE(world.health.circuit_closed());
}

TEST_CASE("a process that was up closes an open circuit with what it is sent when the time is over") {
  World world;
  const milliseconds before = world.loop.now();
  world.die(3);
  world.health.call_answered(world.loop.now());
  CHECK_FALSE(world.health.circuit_closed());
  world.until_half_open();
  world.health.call_answered(before);  // asked for while it was left alone
  CHECK_FALSE(world.health.circuit_closed());
  SECTION("in doubt: the next failure opens it again") {
    world.health.call_answered(world.loop.now());
    CHECK(world.health.circuit_closed());
    world.die(1);
    CHECK_FALSE(world.health.circuit_closed());
  }
  SECTION("beside a half-open probe, which then closes nothing") {
    CHECK(world.health.try_now());
    world.health.call_answered(world.loop.now());
    CHECK(world.health.circuit_closed());
    world.health.probe_answered(world.loop.now());
    CHECK(world.health.circuit_closed());
    world.die(2);
    CHECK(world.health.circuit_closed());
  }
  SECTION("beside a half-open probe that fails") {
    CHECK(world.health.try_now());
    world.health.call_answered(world.loop.now());
    world.die(1);
    CHECK_FALSE(world.health.circuit_closed());
    CHECK_FALSE(world.health.try_now());
  }
}

TEST_CASE("behind a circuit that a process closes which was up no pause between starts is left of before") {
  World world;
  for (int i = 0; i < 3; ++i)
    world.health.probe_died(ended("exited with code 9"));
  world.until_half_open();
  CHECK(world.health.start_pause(milliseconds(0)) < milliseconds(1000));
  world.health.call_answered(world.loop.now());
  CHECK(world.health.circuit_closed());
  CHECK(world.health.start_pause(milliseconds(0)) < milliseconds(1000));
}

TEST_CASE("what says nothing of the server's health does not count") {
  World world;
  ProcessEnd end = ended("was ended because it ignored a cancellation");
  end.counts = false;
  for (int i = 0; i < 20; ++i)
    world.health.died({}, end);
  CHECK(world.health.circuit_closed());
  CHECK(world.health.start_pause(milliseconds(0)) == milliseconds(0));
  for (int i = 0; i < 5; ++i)
    world.health.died(world.lived(true), ended("wrote too much", EndReason::upstream_protocol));
  CHECK(world.health.circuit_closed());
}

TEST_CASE("a server that does not answer the question for its era counts as one that died") {
  World world;
  for (int i = 0; i < 3; ++i)
    world.health.probe_died(ended("exited with code 9"));
  CHECK_FALSE(world.health.circuit_closed());
  CHECK(world.health.why().find("exited with code 9") != std::string::npos);
}

TEST_CASE("an open circuit lets one half-open probe through when its time is over") {
  World world;
  world.die(3);
  CHECK_FALSE(world.health.try_now());
  CHECK(world.health.open_for() > milliseconds(0));
  CHECK(world.health.refusal().reason == EndReason::circuit_open);
  world.until_half_open();
  CHECK(world.health.try_now());
  CHECK_FALSE(world.health.try_now());
  SECTION("its caller goes away: the next one may try") {
    world.health.half_open_probe_withdrawn();
    CHECK(world.health.try_now());
  }
  SECTION("its answer closes it") {
    world.health.probe_answered(world.loop.now());
    CHECK(world.health.circuit_closed());
    world.die(2);
    CHECK(world.health.circuit_closed());
  }
  SECTION("its failure opens it for as long again") {
    world.die(1);
    CHECK(world.health.open_for() == milliseconds(200));
    CHECK_FALSE(world.health.try_now());
  }
  SECTION("a handshake closes it with a doubt: the next failure opens it again") {
    world.health.answered(HealthSignal::handshake);
    CHECK(world.health.circuit_closed());
    world.die(1);
    CHECK_FALSE(world.health.circuit_closed());
  }
}

TEST_CASE("a half-open probe of before the circuit opened once more does not close it") {
  World world;
  world.die(3);
  world.until_half_open();
  CHECK(world.health.try_now());
  const milliseconds sent_at = world.loop.now();
  world.health.call_answered(sent_at);  // a process that was up
  CHECK(world.health.circuit_closed());
  world.die(1);  // it was in doubt
  CHECK_FALSE(world.health.circuit_closed());
  world.health.probe_answered(sent_at);
  CHECK_FALSE(world.health.circuit_closed());
  CHECK(world.health.open_for() > milliseconds(0));
}

TEST_CASE("a handshake shows nothing to a circuit that is closed: deaths after it are still in a row") {
  World world;
  for (int i = 0; i < 3; ++i) {
    world.health.answered(HealthSignal::handshake);
    world.die(1, false);
  }
  CHECK_FALSE(world.health.circuit_closed());
}

TEST_CASE("the pause before a start is the longer of the group's and the server's") {
  World world;
  const milliseconds now = world.loop.now();
  CHECK(world.health.start_pause(milliseconds(0)) == milliseconds(0));
  CHECK(world.health.start_pause(now + milliseconds(7)) == milliseconds(7));
  InstanceRecord silent;
  silent.started_at = now;
  world.health.died(silent, ended("exited with code 3"));
  const milliseconds pause = world.health.start_pause(milliseconds(0));
  CHECK(pause >= milliseconds(48000));  // restart.backoff with its jitter
  CHECK(world.health.start_pause(now + milliseconds(100000)) == milliseconds(100000));
  world.health.answered(HealthSignal::handshake);
  CHECK(world.health.start_pause(milliseconds(0)) == milliseconds(0));
}

TEST_CASE("an open circuit has its own time: neither pause is waited for as well") {
  World world;
  InstanceRecord silent;
  silent.started_at = world.loop.now();
  for (int i = 0; i < 3; ++i)
    world.health.died(silent, ended("exited with code 3"));
  CHECK(world.health.start_pause(world.loop.now() + milliseconds(100000)) == milliseconds(200));
  world.until_half_open();
  CHECK(world.health.start_pause(world.loop.now() + milliseconds(100000)) == milliseconds(0));
}

TEST_CASE(
    "processes that die young are started one a second after ten of them, those that served more often") {
  World world;
  world.server.circuit_breaker.consecutive_failures = 0;
  world.die(10, false);
  CHECK(world.health.start_pause(milliseconds(0)) > milliseconds(500));
  World served;
  served.server.circuit_breaker.consecutive_failures = 0;
  served.die(10, true);
  CHECK(served.health.start_pause(milliseconds(0)) <= milliseconds(251));
  CHECK(served.health.start_pause(milliseconds(0)) > milliseconds(0));
}
