#include "proxy/upstream/stdio/instance_calls.h"

#include <list>

#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;
using std::chrono::milliseconds;

namespace {

struct World {
  World() { stdio.server.timeouts.cancel_grace = milliseconds(60000); }
  ~World() {
    for (StdioCall& call : made)
      call.cancel("the test is over");
  }
  StdioCall& call() {
    return made.emplace_back(
        stdio.made(), request_of(mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})"),
        asker);
  }
  // A call that has been sent.
  StdioCall& sent(bool asks = false) {
    StdioCall& one = call();
    PendingCall entry;
    entry.call = &one;
    entry.counts = true;
    entry.asks = asks;
    one.id = calls.add(std::move(entry));
    return one;
  }
  StdioCall& listening(bool of_gateway = false) {
    StdioCall& one = call();
    one.request.of_gateway = of_gateway;
    PendingCall entry;
    entry.call = &one;
    entry.listen = PendingCall::Listen::asked;
    one.id = calls.add(std::move(entry));
    return one;
  }
  // Its state after a cancel.
  void cancel(const StdioCall& one) {
    PendingCall* entry = calls.find(one.id);
    REQUIRE(entry != nullptr);
    entry->call = nullptr;
    calls.free_place(*entry);
    entry->cancelled = true;
  }
  void answered(const StdioCall& one) {
    PendingCall* entry = calls.find(one.id);
    REQUIRE(entry != nullptr);
    calls.note_over(calls.take(*entry));
  }

  StdioWorld stdio;
  Asker asker;
  size_t all_in_flight = 0;
  InstanceCalls calls{stdio.loop, stdio.server, all_in_flight};
  std::list<StdioCall> made;
};

}  // namespace

TEST_CASE("ids grow, are never given again, and are named as a server may name them") {
  World world;
  StdioCall& first = world.sent();
  StdioCall& second = world.sent();
  CHECK(first.id == 1);
  CHECK(second.id == 2);
  CHECK(world.calls.find(1)->call == &first);
  CHECK(world.calls.find(3) == nullptr);
  CHECK(world.calls.named("2") == world.calls.find(2));
  CHECK(world.calls.named("2.0") == world.calls.find(2));
  CHECK(world.calls.named(R"("2")") == world.calls.find(2));
  CHECK(world.calls.named("null") == nullptr);
  CHECK(world.calls.named("") == nullptr);
  world.calls.forget(*world.calls.find(2));
  CHECK(world.calls.named("2") == nullptr);
  CHECK(world.sent().id == 3);
}

TEST_CASE("each call takes one place in flight, and gives it back once, however it goes") {
  World world;
  auto in_flight = [&] {
    CHECK(world.calls.in_flight() == world.all_in_flight);
    return world.all_in_flight;
  };
  StdioCall& answered = world.sent();
  StdioCall& cancelled = world.sent();
  StdioCall& parked = world.sent();
  StdioCall& parked_and_cancelled = world.sent();
  world.listening();
  CHECK(in_flight() == 4);
  world.answered(answered);
  CHECK(in_flight() == 3);
  world.cancel(cancelled);
  CHECK(in_flight() == 2);
  world.calls.free_place(*world.calls.find(cancelled.id));
  CHECK(in_flight() == 2);
  world.calls.forget(*world.calls.find(cancelled.id));
  CHECK(in_flight() == 2);
  world.calls.handed_over(parked, core::Handover::parked);
  world.calls.handed_over(parked, core::Handover::parked);
  CHECK(in_flight() == 1);
  world.calls.handed_over(parked, core::Handover::in_flight);
  world.calls.handed_over(parked, core::Handover::in_flight);
  CHECK(in_flight() == 2);
  world.calls.handed_over(parked_and_cancelled, core::Handover::parked);
  world.cancel(parked_and_cancelled);
  world.calls.forget(*world.calls.find(parked_and_cancelled.id));
  CHECK(in_flight() == 1);
  world.calls.handed_over(parked_and_cancelled, core::Handover::in_flight);  // it is over
  CHECK(in_flight() == 1);
  InstanceCalls::Table left = world.calls.take_all();
  CHECK(left.size() == 2);
  CHECK(in_flight() == 0);
  CHECK(world.calls.all().empty());
}

TEST_CASE("calls in flight are counted over all processes") {
  World world;
  InstanceCalls next{world.stdio.loop, world.stdio.server, world.all_in_flight};
  world.answered(world.sent());
  world.sent();
  PendingCall entry;
  entry.counts = true;
  next.add(std::move(entry));
  CHECK(world.all_in_flight == 2);
  world.calls.take_all();
  CHECK(world.all_in_flight == 1);
  next.take_all();
  CHECK(world.all_in_flight == 0);
}

TEST_CASE("Lineward's own listens keep no process; those of clients, and calls that were cancelled, do") {
  World world;
  CHECK(world.calls.is_idle());
  StdioCall& own = world.listening(true);
  CHECK(world.calls.is_idle());
  CHECK_FALSE(world.calls.has_listens());
  CHECK_FALSE(world.calls.has_calls());
  world.calls.find(own.id)->call = nullptr;  // cancelled, and not over yet
  CHECK_FALSE(world.calls.is_idle());
  world.calls.forget(*world.calls.find(own.id));
  SECTION("a client's listen") {
    world.listening();
    CHECK_FALSE(world.calls.is_idle());
    CHECK(world.calls.has_listens());
    CHECK_FALSE(world.calls.has_calls());
  }
  SECTION("a cancelled call") {
    world.cancel(world.sent());
    CHECK_FALSE(world.calls.is_idle());
    CHECK_FALSE(world.calls.has_listens());
    CHECK(world.calls.has_calls());
  }
  SECTION("a request of Lineward's own") {
    PendingCall entry;
    entry.own = true;
    world.calls.add(std::move(entry));
    CHECK_FALSE(world.calls.is_idle());
    CHECK_FALSE(world.calls.has_calls());
  }
}

TEST_CASE("a message that names no call may be for each call that is not over, but for no listen") {
  World world;
  world.listening();
  PendingCall own;
  own.own = true;
  world.calls.add(std::move(own));
  CHECK(world.calls.possible().only() == nullptr);
  StdioCall& call = world.sent();
  CHECK(world.calls.possible().only() == &call);
  StdioCall& other = world.sent();
  CHECK(world.calls.possible().only() == nullptr);
  world.cancel(other);
  CHECK(world.calls.possible().only() == nullptr);
  world.calls.forget(*world.calls.find(other.id));
  CHECK(world.calls.possible().only() == &call);
}

TEST_CASE("calls that allow requests of the server count until they are over, also cancelled ones") {
  World world;
  world.sent();
  CHECK(world.calls.asking() == 0);
  StdioCall& one = world.sent(true);
  StdioCall& two = world.sent(true);
  CHECK(world.calls.asking() == 2);
  world.cancel(two);
  CHECK(world.calls.asking() == 2);
  world.calls.forget(*world.calls.find(two.id));
  CHECK(world.calls.asking() == 1);
  world.answered(one);
  CHECK(world.calls.asking() == 0);
  CHECK(world.calls.attribution.asked_lately());
}

TEST_CASE("listens and Lineward's own requests leave no messages behind") {
  World world;
  auto over = [&world](PendingCall entry) {
    entry.asks = true;
    world.calls.note_over(world.calls.take(*world.calls.find(world.calls.add(std::move(entry)))));
  };
  world.answered(world.listening());
  over({.own = true});
  over({.of_gateway = true});
  CHECK_FALSE(world.calls.attribution.asked_lately());
}
