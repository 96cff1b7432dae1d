#include "proxy/upstream/bridge/bridge_listen.h"

#include "unit/proxy/upstream/bridge/bridge_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;
using mcp::Method;

namespace {

std::string of_uri(const char* method, const std::string& uri) {
  return R"({"jsonrpc":"2.0","id":1,"method":"resources/)" + std::string(method) + R"(","params":{"uri":")" +
         uri + R"("}})";
}

std::string acknowledged(const std::string& uris = "") {
  return R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":)"
         R"({"toolsListChanged":true,"resourceSubscriptions":[)" +
         uris + "]}}}";
}

const std::string kToolsChanged =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":)"
    R"({"io.modelcontextprotocol/subscriptionId":4}}})";
const std::string kInitialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

std::string updated(const std::string& uri) {
  return R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":")" + uri +
         R"(","_meta":{"io.modelcontextprotocol/subscriptionId":4}}})";
}

}  // namespace

TEST_CASE("a session listens to the lists that its server announces") {
  BridgeWorld world;
  world.begin();
  CHECK(world.server->asked.size() == 1);
  world.say(kInitialized);
  world.turns();
  REQUIRE(world.server->asked.size() == 2);
  auto first = world.server->asked[1];
  CHECK(first->request.method == Method::subscriptions_listen);
  CHECK(first->says(R"("toolsListChanged":true)"));
  CHECK_FALSE(first->says("promptsListChanged"));
  first->tell(kToolsChanged);
  CHECK(world.client.told.empty());  // not acknowledged yet
  first->tell(acknowledged());

  SECTION("and hears of them, without what it does not know, and of nothing else") {
    first->tell(kToolsChanged);
    REQUIRE(world.client.told.size() == 1);
    CHECK(has(world.client.told[0], "notifications/tools/list_changed"));
    CHECK_FALSE(has(world.client.told[0], "subscriptionId"));
    CHECK_FALSE(world.client.tags[0]);
    first->tell(R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})");
    first->tell(updated("file:///a"));
    first->tell(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}})");
    CHECK(world.client.told.size() == 1);
  }
  SECTION("one that the server ends is opened again, and what may have been missed is told") {
    first->answer("{}");
    CHECK(world.wait_for([&] { return world.server->asked.size() == 3; }));
    CHECK(world.client.told.empty());
    world.server->last().tell(acknowledged());
    REQUIRE(world.client.told.size() == 1);
    CHECK(has(world.client.told[0], "notifications/tools/list_changed"));
  }
  SECTION("one that an open circuit refused is asked for again when that is over") {
    world.config.restart.max_backoff = std::chrono::milliseconds(1000);
    core::Failure open{EndReason::circuit_open, "files is left alone"};
    open.retry_after_ms = 60;
    const auto since = world.loop.now();
    first->fail(open);
    REQUIRE(world.wait_for([&] { return world.server->asked.size() == 3; }));
    CHECK(world.loop.now() - since >= std::chrono::milliseconds(60));
  }
  SECTION("one that is refused is asked for again, unless the server does not know listens") {
    first->fail(EndReason::upstream_exited);
    REQUIRE(world.wait_for([&] { return world.server->asked.size() == 3; }));
    world.server->last().refuse(-32603);
    REQUIRE(world.wait_for([&] { return world.server->asked.size() == 4; }));
    world.server->last().refuse(-32601);
    Asker asker;
    auto call = world.call(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", asker);
    world.turns();
    CHECK(world.server->asked.size() == 4);
  }
  SECTION("one that a rate refuses is asked for until there is room, however often") {
    first->fail(EndReason::upstream_exited);
    core::Failure refusal{EndReason::rate_limited, "too many requests"};
    refusal.by_policy = true;
    refusal.retry_after_ms = 1;
    for (size_t asked = 3; asked < 12; ++asked) {
      REQUIRE(world.wait_for([&] { return world.server->asked.size() == asked; }));
      world.server->last().fail(refusal);
    }
    CHECK(world.wait_for([&] { return world.server->asked.size() == 12; }));
  }
  SECTION("one with a refused client is requested seven times, or for as long as the server says when") {
    core::Failure refusal{EndReason::rate_limited, "files says no"};
    const bool says_when = GENERATE(false, true);
    refusal.headers = {{"Retry-After", says_when ? "1" : "0"}};
    size_t asked = 2;
    for (; asked < 9; ++asked) {
      world.server->last().fail(refusal);
      if (asked < 8 || says_when)
        REQUIRE(world.wait_for([&] { return world.server->asked.size() == asked + 1; }));
    }
    world.turns();
    CHECK(world.server->asked.size() == (says_when ? 9 : 8));
  }
  SECTION("so is one with a server that has gone") {
    first->fail(EndReason::upstream_exited);
    CHECK(world.wait_for([&] { return world.server->asked.size() == 3; }));
  }
  SECTION("after six in a row that came to nothing it waits for the client's next request") {
    size_t opened = 2;
    for (int i = 0; i < 6; ++i) {
      world.server->last().fail(EndReason::upstream_exited);
      ++opened;
      REQUIRE(world.wait_for([&] { return world.server->asked.size() == opened; }));
    }
    world.server->last().fail(EndReason::upstream_exited);
    world.turns();
    CHECK(world.server->asked.size() == opened);
    Asker asker;
    SECTION("one that is answered here") {
      auto call = world.call(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", asker);
      world.turns();
      CHECK(world.server->asked.size() == opened + 1);
      CHECK(world.server->last().request.method == Method::subscriptions_listen);
    }
    // It may be the one that tries a server which was left alone.
    SECTION("one that is sent, and not before") {
      auto call = world.call(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})", asker);
      world.turns();
      REQUIRE(world.server->asked.size() == opened + 1);
      auto list = world.server->asked.back();
      SECTION("over its wire") {
        list->owner->on_call_phase(core::CallPhase::written);
      }
      SECTION("from memory") {
        list->answer(R"({"resultType":"complete","tools":[]})");
      }
      world.turns();
      CHECK(world.server->asked.size() == opened + 2);
      CHECK(world.server->last().request.method == Method::subscriptions_listen);
    }
    SECTION("one that fails before that opens nothing") {
      auto call = world.call(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})", asker);
      world.server->last().fail(EndReason::circuit_open);
      world.turns();
      CHECK(world.server->asked.size() == opened + 1);
    }
  }
  SECTION("the end of the session is its end") {
    world.bridge->close_scope(world.scope);
    CHECK_FALSE(first->cancelled.empty());
  }
}

TEST_CASE("a subscription is answered when a listen with it stands") {
  BridgeWorld world;
  world.begin();
  Asker asker;
  auto call = world.call(of_uri("subscribe", "file:///a"), asker);
  world.turns();
  REQUIRE(world.server->asked.size() == 2);
  auto first = world.server->asked[1];
  CHECK(first->says(R"("resourceSubscriptions":["file:///a"])"));
  CHECK(asker.heard_nothing());

  SECTION("granted: its updates come, and only its") {
    first->tell(acknowledged(R"("file:///a")"));
    world.turns();
    REQUIRE(asker.heard.size() == 1);
    CHECK(has(asker.heard[0], R"("result":{})"));
    first->tell(updated("file:///a"));
    first->tell(updated("file:///b"));
    REQUIRE(world.client.told.size() == 1);
    CHECK(has(world.client.told[0], "file:///a"));
    CHECK_FALSE(has(world.client.told[0], "subscriptionId"));

    Asker second;
    auto more = world.call(of_uri("subscribe", "file:///b"), second);
    world.turns();
    REQUIRE(world.server->asked.size() == 3);
    CHECK(first->live);  // until the next stands
    world.server->last().tell(acknowledged(R"("file:///a","file:///b")"));
    CHECK_FALSE(first->live);
    world.turns();
    CHECK(second.heard.size() == 1);
  }
  SECTION("one more that is not granted: what stands stays, and the new listen goes") {
    first->tell(acknowledged(R"("file:///a")"));
    world.turns();
    Asker second;
    auto more = world.call(of_uri("subscribe", "file:///b"), second);
    world.turns();
    REQUIRE(world.server->asked.size() == 3);
    world.server->last().tell(acknowledged());
    world.turns();
    REQUIRE(second.heard.size() == 1);
    CHECK(has(second.heard[0], "does not grant"));
    CHECK(first->live);
    CHECK_FALSE(world.server->last().live);
    first->tell(updated("file:///a"));
    CHECK(world.client.told.size() == 1);
  }
  SECTION("one more is granted without it: what is granted late is told, and stands") {
    first->tell(acknowledged(R"("file:///a")"));
    world.turns();
    Asker second, third;
    auto more = world.call(of_uri("subscribe", "file:///b"), second);
    world.turns();
    REQUIRE(world.server->asked.size() == 3);
    CHECK(world.server->last().request.takes_late_grants);
    world.server->last().tell(acknowledged(R"("file:///b")"));
    world.turns();
    CHECK_FALSE(first->live);
    world.server->last().tell(updated("file:///a"));
    CHECK(world.client.told.size() == 1);
    auto again = world.call(of_uri("subscribe", "file:///a"), third);
    world.turns();
    REQUIRE(third.heard.size() == 1);
    CHECK(has(third.heard[0], R"("result":{})"));
  }
  SECTION("a policy refuses it by its name, and then once as a whole: the rest is wished on") {
    first->tell(acknowledged(R"("file:///a")"));
    world.turns();
    Asker second;
    auto more = world.call(of_uri("subscribe", "file:///b"), second);
    world.turns();
    REQUIRE(world.server->asked.size() == 3);
    core::Failure refusal{EndReason::invalid_request, "Resource not found: file:///a"};
    refusal.by_policy = true;
    refusal.refused_parts = {"file:///a"};
    world.server->last().fail(refusal);
    world.turns();
    REQUIRE(world.server->asked.size() == 4);
    CHECK(world.server->last().says(R"("resourceSubscriptions":["file:///b"])"));
    CHECK(second.heard_nothing());
    refusal.refused_parts.clear();
    world.server->last().fail(refusal);
    world.turns();
    REQUIRE(second.heard.size() == 1);
    CHECK(has(second.heard[0], "Resource not found"));
    CHECK_FALSE(first->live);  // no wishes any more
  }
  SECTION("the client itself is refused, by the server or a policy: told at once, as it came") {
    const EndReason reason = GENERATE(EndReason::unauthorized, EndReason::forbidden, EndReason::rate_limited);
    core::Failure refusal{reason, "files says no"};
    refusal.by_policy = GENERATE(false, true);
    refusal.headers = {{"Retry-After", "7"}};
    first->fail(refusal);
    world.turns();
    CHECK(asker.heard.empty());
    REQUIRE(asker.failed);
    CHECK(asker.failed->reason == reason);
    CHECK(asker.failed->text == "files says no");
    CHECK(asker.failed->headers == refusal.headers);
    CHECK(world.server->asked.size() == 2);
    // A second request is not held up.
    Asker second;
    auto again = world.call(of_uri("subscribe", "file:///a"), second);
    world.turns();
    REQUIRE(world.server->asked.size() == 3);
    world.server->last().tell(acknowledged(R"("file:///a")"));
    world.turns();
    CHECK(second.heard.size() == 1);
  }
  SECTION("one more, refused so: what stands goes on") {
    first->tell(acknowledged(R"("file:///a")"));
    world.turns();
    Asker second;
    auto more = world.call(of_uri("subscribe", "file:///b"), second);
    world.turns();
    world.server->last().fail(EndReason::forbidden);
    world.turns();
    CHECK(second.failed);
    CHECK(first->live);
    CHECK(world.server->asked.size() == 3);
  }
  SECTION("taken back: the last one ends the listen") {
    first->tell(acknowledged(R"("file:///a")"));
    world.turns();
    Asker second;
    auto back = world.call(of_uri("unsubscribe", "file:///a"), second);
    world.turns();
    CHECK(second.heard.size() == 1);
    CHECK_FALSE(first->cancelled.empty());
    CHECK(world.server->asked.size() == 2);
  }
  SECTION("not granted: refused") {
    first->tell(acknowledged());
    world.turns();
    REQUIRE(asker.heard.size() == 1);
    CHECK(has(asker.heard[0], "does not grant"));
  }
  SECTION("the listen refused: refused with the server's words, and not tried again") {
    first->refuse(-32602);
    world.turns();
    REQUIRE(asker.heard.size() == 1);
    CHECK(has(asker.heard[0], "cannot be listened to: no"));
    CHECK(world.server->asked.size() == 2);
  }
  SECTION("not acknowledged in time: refused, and the limit is named") {
    world.config.timeouts.acknowledge = std::chrono::milliseconds(1);
    first->owner->on_call_phase(core::CallPhase::written);
    CHECK(world.wait_for([&] { return !asker.heard.empty(); }));
    CHECK(has(asker.heard.at(0), "timeouts.acknowledge"));
    CHECK_FALSE(first->cancelled.empty());
  }
  SECTION("cancelled by its client: no answer is sent") {
    call->cancel("enough");
    first->tell(acknowledged(R"("file:///a")"));
    world.turns();
    CHECK(asker.heard_nothing());
  }
}
