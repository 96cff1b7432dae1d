#include "proxy/cluster/remote_upstream.h"

#include "unit/proxy/cluster/remote_world.h"

using namespace lineward;
using namespace lineward::cluster;
using namespace lineward::cluster::remote_test;

TEST_CASE("a call goes to a server on another thread, and what the server says comes back in order") {
  World world;
  auto call = world.near.start(world.asker);
  CHECK(call->live());
  CHECK(call->request_message().method() == "tools/call");
  CHECK(world.asker.heard.empty());
  world.serve([](FakeServer& server) {
    CHECK(server.last->asked.from != nullptr);  // the caller goes along
    CHECK(server.last->asked.tag == core::remote_tag(7, 0));
    server.its_era = mcp::Era::legacy;
    server.last->owner->on_call_repeated();
    server.last->owner->on_call_request(core::Coalesced::yes);
    server.last->owner->on_call_phase(CallPhase::written);
    server.last->say(progress(1));
    server.last->say(progress(2));
    server.last->say(result(3));
  });
  CHECK(world.asker.repeated == 1);
  CHECK(world.asker.whose == core::Coalesced::yes);
  CHECK(world.asker.phases == std::vector{CallPhase::written});
  REQUIRE(world.asker.heard.size() == 3);
  CHECK(world.asker.heard[1] == progress(2).bytes());
  CHECK(world.asker.heard[2] == result(3).bytes());
  CHECK_FALSE(call->live());
  CHECK(call->call_facts().server_info == "info");
  CHECK(call->call_facts().of_legacy_server);
  CHECK_FALSE(call->call_facts().is_from_server);
  CHECK(world.near.upstream->era() == mcp::Era::legacy);
  world.far.run([&] { CHECK(world.far.call_server->size() == 0); });
}

TEST_CASE("the last message of a call ends it on both threads, also when it is a notification") {
  World world;
  auto call = world.near.start(world.asker);
  const std::string last = R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})";
  world.serve([&](FakeServer& server) {
    server.last->say(progress(1));
    // It is over when it says this.
    core::CallCallbacks* owner = std::exchange(server.last->owner, nullptr);
    owner->on_call_message(parse(last));
  });
  REQUIRE(world.asker.heard.size() == 2);
  CHECK(world.asker.heard[1] == last);
  CHECK_FALSE(call->live());
  world.far.run([&] { CHECK(world.far.call_server->size() == 0); });
}

TEST_CASE("a call that cannot even begin fails, and not from within start") {
  World world;
  world.far.run([&] { world.far.server->refuses = true; });
  auto call = world.near.start(world.asker);
  CHECK_FALSE(world.asker.failed);
  world.near.listen();
  REQUIRE(world.asker.failed);
  CHECK(world.asker.failed->reason == EndReason::queue_full);
  CHECK_FALSE(call->live());
}

TEST_CASE("a failure of the server's call comes with all it says") {
  World world;
  auto call = world.near.start(world.asker);
  world.serve([](FakeServer& server) {
    core::Failure failure{EndReason::rate_limited, "slowly"};
    failure.retry_after_ms = 5;
    failure.headers = {{"Retry-After", "1"}};
    std::exchange(server.last->owner, nullptr)->on_call_failed(failure);
  });
  REQUIRE(world.asker.failed);
  CHECK(world.asker.failed->retry_after_ms == 5);
  CHECK(world.asker.failed->headers.size() == 1);
}

TEST_CASE("after a cancel nothing is heard, though it was on its way, and the server is told") {
  World world;
  auto call = world.near.start(world.asker);
  world.far.run([&] { world.far.server->last->say(progress(1)); });  // posted, not heard yet
  call->cancel("no longer wanted");
  CHECK_FALSE(call->live());
  world.near.listen();
  CHECK(world.asker.heard.empty());
  world.far.run([&] {
    CHECK(world.far.server->heard[0]->cancelled == "no longer wanted");
    CHECK(world.far.call_server->size() == 0);
    REQUIRE(world.far.settled.size() == 1);
    CHECK(world.far.settled[0].first == core::remote_tag(7, 0));
    CHECK(world.far.settled[0].second == metrics::CancelOutcome::stopped);
  });
}

TEST_CASE("a cancel that crosses the answer raced") {
  World world;
  auto call = world.near.start(world.asker);
  world.far.run([&] { world.far.server->last->say(result(1)); });
  call->cancel("too late");
  world.near.listen();
  CHECK(world.asker.heard.empty());
  world.far.run([&] {
    CHECK(world.far.server->heard[0]->cancelled.empty());
    REQUIRE(world.far.settled.size() == 1);
    CHECK(world.far.settled[0].second == metrics::CancelOutcome::raced);
  });
}

TEST_CASE("a call that dies alive is cancelled where the server is") {
  World world;
  world.near.start(world.asker).reset();
  world.far.run([&] { CHECK(world.far.server->heard[0]->cancelled == "internal error"); });
}

TEST_CASE("answers, retries and what parks a call reach it") {
  World world;
  Asker park;
  auto call = world.near.start(world.asker);
  call->reply(R"({"jsonrpc":"2.0","id":5,"result":{}})");
  call->hand_over(park, core::Handover::parked);
  call->retried(parse(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}})"));
  CHECK(call->request_message().raw(mcp::Field::id) == "2");
  world.serve([](FakeServer& server) {
    CHECK(server.heard[0]->replies == std::vector<std::string>{R"({"jsonrpc":"2.0","id":5,"result":{}})"});
    CHECK(server.heard[0]->parked == std::vector<bool>{true});
    CHECK(server.heard[0]->retried.find("\"id\":2") != std::string::npos);
    server.last->say(result(1));
  });
  CHECK(world.asker.heard.empty());
  CHECK(park.heard.size() == 1);
}

TEST_CASE("an owner may cancel, answer or destroy its call from within what it hears") {
  World world;
  auto call = world.near.start(world.asker);
  SECTION("destroy at the last message") {
    world.asker.then = [&] { call.reset(); };
    world.serve([](FakeServer& server) { server.last->say(result(1)); });
    CHECK(world.asker.heard.size() == 1);
  }
  SECTION("cancel at the first") {
    world.asker.then = [&] {
      call->cancel("enough");
      world.near.loop.retire(std::move(call));
    };
    world.serve([](FakeServer& server) {
      for (int n = 0; n < 5; ++n)
        server.last->say(progress(n));
    });
    CHECK(world.asker.heard.size() == 1);
    world.far.run([&] { CHECK(world.far.server->heard[0]->cancelled == "enough"); });
  }
}

TEST_CASE("pausing says whether the server could be held back when it was heard last") {
  World world;
  auto call = world.near.start(world.asker);
  CHECK_FALSE(call->pause());  // nothing is known yet
  world.serve([](FakeServer& server) { server.last->say(progress(1)); });
  CHECK(call->pause());
  world.serve([](FakeServer& server) {
    CHECK(server.heard[0]->pauses.back() == true);
    server.last->pausable = false;
  });
  CHECK(call->resume());
  world.serve([](FakeServer& server) {
    CHECK(server.heard[0]->pauses.back() == false);
    server.last->say(progress(2));
  });
  CHECK_FALSE(call->resume());
  call->cancel("done");
}

TEST_CASE("a call is resumed after a pause that came too late to hold its server back") {
  World world;
  auto call = world.near.start(world.asker);
  world.serve([](FakeServer& server) {
    server.last->say(progress(1));
    server.last->pausable = false;
  });
  CHECK(call->pause());
  world.serve([](FakeServer& server) { server.last->say(progress(2)); });
  CHECK_FALSE(call->resume());
  world.serve([](FakeServer& server) {
    server.last->pausable = true;
    server.last->say(progress(3));
    CHECK(server.heard[0]->pauses.back() == false);
  });
  call->cancel("done");
}

TEST_CASE("notifications reach the server, and how it is comes when it says so") {
  World world;
  world.near.upstream->send({}, mcp::Era::modern, progress(9), {});
  world.serve([&](FakeServer& server) {
    CHECK(server.forwarded == progress(9).bytes());
    server.its_era = mcp::Era::modern;
    world.far.call_server->tell_state();
  });
  CHECK(world.near.upstream->era() == mcp::Era::modern);
}
