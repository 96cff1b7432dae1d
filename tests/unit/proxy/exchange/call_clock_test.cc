// Which limit a call is under, phase by phase; what rings is the limit that ran out first.
#include "proxy/exchange/call_clock.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace std::chrono_literals;
using core::CallPhase;
using exchange::CallClock;
using exchange::CallState;
using exchange::CallView;

namespace {

struct World {
  explicit World(mcp::Method method = mcp::Method::tools_call)
      : clock(loop, method, [this](const CallClock::Due& due) {
          rang = due;
          loop.stop();
        }) {
    server.limits.queue_timeout = 3s;
    limits.startup = 4s;
    limits.request = 5s;
    limits.max_duration = 60s;
    limits.park = 70s;
    limits.acknowledge = 6s;
  }
  void use() {
    clock.use_limits(limits, server);
    clock.rearm();
  }
  void write() {
    use();
    clock.enter(CallPhase::written);
  }
  // The option that the call is under, and what is left of it; nothing when it is under none.
  std::string due() const {
    CallView view;
    clock.show(view);
    return view.left ? view.limit + " " + std::to_string(view.left->count()) : std::string();
  }
  std::string due_in(std::string_view limit, std::chrono::milliseconds left) const {
    return std::string(limit) + " " + std::to_string(left.count());
  }
  // Lets some milliseconds pass, and says how many they were.
  std::chrono::milliseconds pass() {
    const auto before = loop.now();
    net::Timer timer(loop);
    timer.start(5ms, [this] { loop.defer([this] { loop.stop(); }); });
    loop.run();
    return loop.now() - before;
  }
  CallState state() const {
    CallView view;
    clock.show(view);
    return view.state;
  }

  net::Loop loop;
  config::Server server;
  config::Timeouts limits;
  std::optional<CallClock::Due> rang;
  CallClock clock;
};

}  // namespace

TEST_CASE("a limit that only catches what the parts of an answer do not is never shown") {
  World world;
  world.limits.request = world.limits.max_duration = CallClock::kMaxPart;
  world.use();
  CHECK(world.due() == "limits.queueTimeout 3000");
  world.clock.enter(CallPhase::written);
  CHECK(world.due().empty());
  CHECK(world.state() == CallState::running);
}

TEST_CASE("each phase of a call has its limit") {
  World world;
  CallClock& clock = world.clock;
  clock.rearm();
  CHECK(world.due().empty());  // no limits are known yet
  world.use();
  CHECK(world.due() == "limits.queueTimeout 3000");
  CHECK(world.state() == CallState::queued);
  CHECK_FALSE(clock.enter(CallPhase::queued));
  CHECK(clock.enter(CallPhase::at_capacity));
  CHECK(world.due() == "limits.queueTimeout 3000");
  CHECK(clock.enter(CallPhase::starting));
  CHECK(world.due() == "timeouts.startup 4000");
  CHECK(world.state() == CallState::starting);
  CHECK_FALSE(clock.at_server());
  CHECK(clock.enter(CallPhase::written));
  CHECK(world.due() == "timeouts.request 5000");
  CHECK(world.state() == CallState::running);
  CHECK(clock.at_server());
  clock.stop();
  clock.progressed();
  CHECK(world.due().empty());
}

TEST_CASE("a plugin that takes its time has the time that a place in the queue has") {
  World world;
  world.write();
  world.clock.plugins_decide();
  CHECK(world.due() == "limits.queueTimeout 3000");
  world.server.limits.queue_timeout = 2s;  // by a reload
  world.clock.rearm();
  CHECK(world.due() == "limits.queueTimeout 2000");
  world.clock.plugins_decided();
  world.clock.rearm();
  CHECK(world.due() == "timeouts.request 5000");
}

TEST_CASE("a question, and a client that reads slowly, are not charged to the server's time") {
  World world;
  world.write();
  world.clock.asked();
  world.clock.asked();
  CHECK(world.due() == "timeouts.park 70000");
  CHECK(world.state() == CallState::input);
  world.clock.answered();
  CHECK(world.due() == "timeouts.park 70000");
  world.clock.answered();
  CHECK(world.due() == "timeouts.request 5000");
  world.clock.answered();  // no question
  CHECK(world.due() == "timeouts.request 5000");

  world.clock.hold();
  CHECK(world.clock.is_held());
  CHECK(world.due() == "timeouts.maxDuration 60000");
  CHECK(world.clock.release());
  CHECK_FALSE(world.clock.release());
  CHECK(world.due() == "timeouts.request 5000");
}

TEST_CASE("a call that was held back longer than a request may take has not timed out when it is relieved") {
  World world;
  world.limits.request = 40ms;
  world.write();
  world.clock.hold();
  net::Timer relief(world.loop);
  std::string due;
  relief.start(100ms, [&] {
    CHECK(world.clock.release());
    due = world.due();
    world.loop.stop();
  });
  world.loop.run();
  CHECK_FALSE(world.rang);
  CHECK(due == "timeouts.request 40");
  // And from then on it counts.
  if (!world.rang) world.loop.run();
  REQUIRE(world.rang);
  CHECK(world.rang->option == "timeouts.request");
}

TEST_CASE("a call that was parked goes on with the time that it has left") {
  World world;
  world.use();
  world.clock.go_on(58s);
  world.clock.rearm();
  CHECK(world.clock.spent() == 58s);
  CHECK(world.due() == "timeouts.maxDuration 2000");
}

TEST_CASE("a call that is sent once more begins its request limit anew, and not its longest duration") {
  World world;
  world.limits.max_duration = 6s;
  world.write();
  const auto first = world.pass();
  world.clock.enter(CallPhase::starting);  // its session is lost, and made anew
  const auto between = world.pass();
  world.clock.enter(CallPhase::written);
  CHECK(world.due() == "timeouts.request 5000");
  CHECK(world.clock.spent() == first + between);
  world.limits.max_duration = 5s;
  world.use();
  CHECK(world.due() == world.due_in("timeouts.maxDuration", 5s - first - between));
}

TEST_CASE("a longest duration that is shorter than a request may take is what is named, progress or not") {
  World world;
  world.limits.max_duration = 2s;
  world.write();
  CHECK(world.due() == "timeouts.maxDuration 2000");
  const auto passed = world.pass();
  world.clock.progressed();
  CHECK(world.due() == world.due_in("timeouts.maxDuration", 2s - passed));
  SECTION("of two that are equal it is the request's own") {
    World equal;
    equal.limits.max_duration = equal.limits.request;
    equal.write();
    CHECK(equal.due() == "timeouts.request 5000");
  }
}

TEST_CASE("what a server was sent once it was sent, also while it is waited for again") {
  World world;
  CHECK_FALSE(world.clock.was_written());
  world.write();
  world.clock.enter(CallPhase::starting);
  CHECK_FALSE(world.clock.is_written());
  CHECK(world.clock.was_written());
}

TEST_CASE("progress is told of since it came, also where it restarts nothing") {
  World world;
  world.limits.progress_resets = false;
  world.write();
  const auto first = world.pass();
  world.clock.progressed();
  const auto then = world.pass();
  CHECK(world.clock.progress_ago() == then);
  CHECK(world.due() == world.due_in("timeouts.request", 5s - first - then));
}

TEST_CASE("what a call waited for a place is counted over all its times in the queue") {
  World world;
  world.use();
  const auto first = world.pass();
  world.clock.enter(CallPhase::starting);
  const auto started = world.pass();
  world.clock.enter(CallPhase::queued);
  CHECK(world.due() == world.due_in("limits.queueTimeout", 3s - first));
  const auto again = world.pass();
  world.clock.enter(CallPhase::starting);
  CHECK(world.due() == world.due_in("timeouts.startup", 4s - started));
  CHECK(world.clock.queued_for() == first + again);
}

TEST_CASE("progress starts the request's time again where it may") {
  World world;
  world.write();
  const auto first = world.pass();
  CHECK(world.due() == world.due_in("timeouts.request", 5s - first));
  world.clock.progressed();
  CHECK(world.due() == "timeouts.request 5000");
  world.limits.progress_resets = false;
  world.use();
  const auto then = world.pass();
  world.clock.progressed();
  CHECK(world.due() == world.due_in("timeouts.request", 5s - then));
}

TEST_CASE("the time in which a server is held back is no silence of it") {
  World world;
  world.write();
  const auto silent = world.pass();
  world.clock.hold();
  const auto held = world.pass();
  CHECK(world.due() == world.due_in("timeouts.maxDuration", 60s - silent - held));
  world.clock.release();
  CHECK(world.due() == world.due_in("timeouts.request", 5s - silent));
}

TEST_CASE("the time in which a client is asked takes nothing of any limit but its own") {
  World world;
  world.limits.max_duration = 4s;
  world.write();
  const auto worked = world.pass();
  world.clock.asked();
  world.pass();
  world.clock.answered();
  CHECK(world.due() == world.due_in("timeouts.maxDuration", 4s - worked));
  CHECK(world.clock.spent() == worked);
  world.limits.max_duration = 60s;
  world.use();
  CHECK(world.due() == "timeouts.request 5000");  // it begins anew with the answer
}

TEST_CASE("a limit that comes nearer rings when it is due") {
  World world;
  world.write();
  world.limits.request = 5ms;
  world.use();
  net::Timer guard(world.loop);
  guard.start(3s, [&] { world.loop.stop(); });
  world.loop.run();
  REQUIRE(world.rang);
  CHECK(world.rang->limit == 5ms);
}

TEST_CASE("a listen has to be acknowledged in time") {
  World world(mcp::Method::subscriptions_listen);
  world.write();
  CHECK(world.due() == "timeouts.acknowledge 6000");
}

TEST_CASE("the limit that ran out is told from the loop") {
  World world;
  world.limits.request = 1ms;
  world.write();
  CHECK_FALSE(world.rang);
  world.loop.run();
  REQUIRE(world.rang);
  CHECK(world.rang->reason == mcp::EndReason::timeout_request);
  CHECK(world.rang->limit == 1ms);
  CHECK(world.rang->option == "timeouts.request");
}

TEST_CASE("what a server says while it is held back begins its time anew, and that time stands still too") {
  World world;
  world.limits.progress_resets = true;
  world.write();
  world.clock.hold();
  world.pass();
  world.clock.progressed();
  world.pass();
  world.clock.release();
  CHECK(world.due() == "timeouts.request 5000");
}

TEST_CASE(
    "a server is not late for a request while its last message is with a plugin, but within the whole") {
  World world;
  world.write();
  const auto taken = world.pass();
  world.clock.server_is_done();
  CHECK(world.due() == world.due_in("timeouts.maxDuration", 60s - taken));
}
