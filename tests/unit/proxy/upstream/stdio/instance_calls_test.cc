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

TEST_CASE("a message without a name belongs to the one call that can be meant, and to none in doubt") {
  World world;
  CHECK(world.calls.only_call() == nullptr);
  world.listening();
  PendingCall own;
  own.own = true;
  world.calls.add(std::move(own));
  StdioCall& call = world.sent();
  CHECK(world.calls.only_call() == &call);
  CHECK(world.calls.owner_of_unnamed() == &call);
  SECTION("there is another") {
    StdioCall& other = world.sent();
    CHECK(world.calls.only_call() == nullptr);
    CHECK(world.calls.owner_of_unnamed() == nullptr);
    SECTION("which was cancelled and may be at work, until its id is forgotten") {
      world.cancel(other);
      CHECK(world.calls.only_call() == nullptr);
      CHECK(world.calls.owner_of_unnamed() == nullptr);
      world.calls.forget(*world.calls.find(other.id));
      CHECK(world.calls.owner_of_unnamed() == &call);
    }
    SECTION("which was answered: there may be more to be said of it") {
      world.answered(other);
      CHECK(world.calls.only_call() == &call);
      CHECK(world.calls.owner_of_unnamed() == nullptr);
    }
    SECTION("which was answered, and there is no grace") {
      world.stdio.server.timeouts.cancel_grace = milliseconds(0);
      world.answered(other);
      CHECK(world.calls.owner_of_unnamed() == &call);
    }
  }
  SECTION("a listen, and what Lineward asked itself, leave no doubt when they are over") {
    world.answered(world.listening());
    // The two take() below are of entries that note_over passes over.
    PendingCall entry;
    entry.own = true;
    world.calls.note_over(world.calls.take(*world.calls.find(world.calls.add(std::move(entry)))));
    entry = {};
    entry.of_gateway = true;
    world.calls.note_over(world.calls.take(*world.calls.find(world.calls.add(std::move(entry)))));
    CHECK(world.calls.owner_of_unnamed() == &call);
  }
}

TEST_CASE("a question belongs to the one call that may ask; a cancelled one counts until it is over") {
  World world;
  StdioCall& beside = world.sent();
  CHECK(world.calls.asking() == 0);
  CHECK(world.calls.asking_call() == nullptr);
  StdioCall& asks = world.sent(true);
  // Any of the two may be meant, also while the one is cancelled and at work for a while.
  CHECK(world.calls.asking_call() == nullptr);
  world.cancel(beside);
  CHECK(world.calls.asking_call() == nullptr);
  world.calls.forget(*world.calls.find(beside.id));
  CHECK(world.calls.asking() == 1);
  CHECK(world.calls.asking_call() == &asks);
  StdioCall& other = world.sent(true);
  CHECK(world.calls.asking() == 2);
  CHECK(world.calls.asking_call() == nullptr);
  world.cancel(other);
  CHECK(world.calls.asking() == 2);
  CHECK(world.calls.asking_call() == nullptr);
  world.calls.forget(*world.calls.find(other.id));
  CHECK(world.calls.asking_call() == &asks);
  world.cancel(asks);
  CHECK(world.calls.asking() == 1);
  CHECK(world.calls.asking_call() == nullptr);
  StdioCall& later = world.sent(true);
  CHECK(world.calls.asking_call() == nullptr);
  world.calls.forget(*world.calls.find(asks.id));
  CHECK(world.calls.asking_call() == &later);
}

TEST_CASE("a question is the one call's that may ask") {
  World world;
  StdioCall& only = world.sent(true);
  CHECK(world.calls.owner_of_question(mcp::Method::elicitation_create, false) == &only);
  CHECK(world.calls.owner_of_question(mcp::Method::elicitation_create, true) == &only);
  CHECK(world.calls.owner_of_question(mcp::Method::roots_list, true) == &only);
  // Nor can the client of a shared process answer it.
  CHECK(world.calls.owner_of_question(mcp::Method::roots_list, false) == nullptr);
  CHECK(world.calls.owner_of_question(mcp::Method::tools_list, true) == nullptr);
}

TEST_CASE("a question within the grace of another caller's call has no owner") {
  World world;
  world.answered(world.sent(true));
  world.sent(true);
  CHECK(world.calls.owner_of_question(mcp::Method::elicitation_create, false) == nullptr);
}

TEST_CASE("without a grace the next call's questions are its own") {
  World world;
  world.stdio.server.timeouts.cancel_grace = milliseconds(0);
  world.answered(world.sent(true));
  StdioCall& second = world.sent(true);
  CHECK(world.calls.owner_of_question(mcp::Method::elicitation_create, false) == &second);
}

TEST_CASE("the withdrawal of a question belongs to the call of the asked client, whatever else is there") {
  World world;
  StdioCall& one = world.sent(true);
  StdioCall& two = world.sent(true);
  auto cancelled = [](const std::string& id) {
    return mcp::parse(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id +
                      "}}");
  };
  CHECK(world.calls.asked_by(cancelled("1")) == nullptr);
  one.message(mcp::parse(R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})"));
  two.message(mcp::parse(R"({"jsonrpc":"2.0","id":"1","method":"roots/list"})"));
  CHECK(world.calls.asked_by(cancelled("1.0")) == &one);
  CHECK(world.calls.asked_by(cancelled(R"("1")")) == &two);
  one.message(cancelled("1"));
  CHECK(world.calls.asked_by(cancelled("1")) == nullptr);
  world.cancel(two);
  CHECK(world.calls.asked_by(cancelled(R"("1")")) == nullptr);
}

TEST_CASE(
    "the completion of an elicitation belongs to the call of the asked legacy client, and to no modern "
    "client's") {
  World world;
  StdioCall& legacy = world.sent(true);
  StdioCall& modern = world.sent(true);
  auto from = std::make_shared<core::ClientRequest>();
  from->era = mcp::Era::legacy;
  legacy.request.from = from;
  auto question = [](const std::string& name) {
    return mcp::parse(R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"elicitationId":")" +
                      name + "\"}}");
  };
  auto completed = [](const std::string& name) {
    return mcp::parse(
        R"({"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":")" +
        name + "\"}}");
  };
  CHECK(world.calls.asked_by(completed("a")) == nullptr);
  legacy.message(question("a"));
  modern.message(question("b"));
  CHECK(world.calls.asked_by(completed("a")) == &legacy);
  CHECK(world.calls.asked_by(completed("b")) == nullptr);
  CHECK(world.calls.asked_by(completed("")) == nullptr);
  // Bounded: the first 64 of a call, with ids that are not too long.
  legacy.message(question(std::string(257, 'x')));
  CHECK(world.calls.asked_by(completed(std::string(257, 'x'))) == nullptr);
  for (int i = 1; i < 64; ++i)
    legacy.message(question(std::to_string(i)));
  legacy.message(question("too many"));
  CHECK(world.calls.asked_by(completed("63")) == &legacy);
  CHECK(world.calls.asked_by(completed("too many")) == nullptr);
}

TEST_CASE("after a call that may ask was answered its server is unsettled, until it is heard to be done") {
  World world;
  world.answered(world.sent());
  CHECK_FALSE(world.calls.is_unsettled());
  CHECK(world.calls.asked_until() == milliseconds(0));
  world.answered(world.sent(true));
  CHECK(world.calls.is_unsettled());
  CHECK(world.calls.asked_until() == world.stdio.loop.now() + milliseconds(60000));
  world.calls.settled();
  CHECK_FALSE(world.calls.is_unsettled());
  // Its messages about the answered call may still come.
  CHECK(world.calls.asked_until() > world.stdio.loop.now());
  world.stdio.server.timeouts.cancel_grace = milliseconds(0);
  world.answered(world.sent(true));
  CHECK_FALSE(world.calls.is_unsettled());
}
