#include "proxy/upstream/bridge/modern_bridge.h"

#include "unit/proxy/upstream/bridge/bridge_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;
using mcp::Method;

namespace {

const std::string kPing = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
const std::string kModernTool =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}})";

}  // namespace

TEST_CASE("where the server is known as modern, its discovery answers a legacy client's initialize") {
  BridgeWorld world;
  CHECK(world.server->scopes == 1);
  Asker asker;
  auto call = world.initialize(asker);
  REQUIRE(world.server->asked.size() == 1);
  CHECK(world.server->last().request.method == Method::server_discover);
  CHECK(world.server->last().request.client_era == mcp::Era::modern);
  CHECK(world.server->last().request.scope.session.empty());
  CHECK(world.server->last().says(R"("name":"old")"));

  SECTION("with what the server said of itself, in the client's revision") {
    world.server->last().owner->on_call_phase(core::CallPhase::written);
    world.server->last().answer(kDiscovered);
    CHECK(asker.phases == std::vector<core::CallPhase>{core::CallPhase::starting});
    REQUIRE(asker.heard.size() == 1);
    CHECK(asker.heard[0].find(R"("protocolVersion":"2025-11-25")") != std::string::npos);
    CHECK(asker.heard[0].find(R"("name":"m")") != std::string::npos);
    CHECK_FALSE(call->live());
  }
  SECTION("one that names no version of ours ends it") {
    world.server->last().answer(R"({"supportedVersions":["2031-01-01"]})");
    REQUIRE(asker.failed);
    CHECK(asker.failed->reason == EndReason::upstream_protocol);
    Asker tool;
    CHECK_FALSE(world.start(kModernTool, tool));
  }
  SECTION("its refusal is the client's answer") {
    world.server->last().refuse(-32000);
    REQUIRE(asker.heard.size() == 1);
    CHECK(asker.heard[0].find("-32000") != std::string::npos);
  }
}

TEST_CASE("a session that was never initialised may ping, and nothing else") {
  BridgeWorld world;
  Asker asker;
  auto refused = world.start(kModernTool, asker);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reason == EndReason::upstream_protocol);
  auto call = world.call(kPing, asker);
  CHECK(asker.heard_nothing());  // never from within start()
  world.turns();
  CHECK(asker.heard.size() == 1);
  CHECK(world.server->asked.empty());
}

TEST_CASE("where the era is open, the client's own initialize comes first") {
  BridgeWorld world(config::Era::automatic);
  CHECK(world.server->scopes == 1);
  Asker asker;
  auto call = world.initialize(asker);
  CHECK(world.server->last().request.method == Method::initialize);
  CHECK(world.server->last().request.scope.session == "session-1");
  LegacyClient other_client;
  const core::Scope other{"session-2", "somebody", {}};

  SECTION("a server that takes it with a session of its own serves it without us") {
    world.server->last().answer(R"({"protocolVersion":"2025-11-25"})");
    world.turns();
    CHECK(asker.heard.size() == 1);
    Asker tool;
    auto next = world.call(kModernTool, tool);
    CHECK(world.server->last().text() == kModernTool);
    CHECK(world.server->last().request.client_era == mcp::Era::legacy);
    world.server->last().answer("{}");
    CHECK(world.server->scopes == 1);
    world.bridge->close_scope(world.scope);
    CHECK(world.server->scopes == 0);
    world.server->scopes = 1;  // the world closes it once more
  }
  SECTION("a modern one that does not know it is discovered, and remembered") {
    world.server->last().refuse(-32601);
    world.turns();
    CHECK(asker.heard_nothing());
    CHECK(world.server->scopes == 1);
    CHECK(world.server->last().request.method == Method::server_discover);
    world.server->last().answer(kDiscovered);
    CHECK(asker.heard.size() == 1);
    world.bridge->open_scope(other, other_client);
    CHECK(world.server->scopes == 2);
    world.bridge->close_scope(other);
  }
  SECTION("a modern one that breaks down over it is discovered too") {
    world.server->last().fail(EndReason::upstream_exited);
    world.turns();
    CHECK_FALSE(asker.failed);
    CHECK(world.server->last().request.method == Method::server_discover);
    world.server->last().answer(kDiscovered);
    CHECK(asker.heard.size() == 1);
  }
  SECTION("a timeout says nothing about its era") {
    world.server->last().fail(EndReason::timeout_startup);
    world.turns();
    REQUIRE(asker.failed);
    CHECK(world.server->asked.size() == 1);
  }
  SECTION("a refusal stands where the server turns out to be a legacy one") {
    world.server->spoken.reset();
    world.server->last().refuse(-32601);
    world.turns();
    CHECK(asker.heard_nothing());
    world.server->spoken = mcp::Era::legacy;
    world.server->last().answer(kDiscovered);
    REQUIRE(asker.heard.size() == 1);
    CHECK(asker.heard[0].find("-32601") != std::string::npos);
  }
  SECTION("one that keeps no session is asked whether it can do better") {
    world.server->last().has_session = false;
    world.server->last().answer(R"({"protocolVersion":"2025-11-25","served":"as it came"})");
    world.turns();
    CHECK(asker.heard_nothing());
    REQUIRE(world.server->last().request.method == Method::server_discover);
    SECTION("and bridged when it can") {
      world.server->last().answer(kDiscovered);
      REQUIRE(asker.heard.size() == 1);
      CHECK(asker.heard[0].find(R"("name":"m")") != std::string::npos);
      CHECK(world.server->scopes == 1);
    }
    SECTION("and serves it as it is when it cannot") {
      world.server->last().fail(EndReason::upstream_exited);
      world.turns();
      REQUIRE(asker.heard.size() == 1);
      CHECK(asker.heard[0].find("as it came") != std::string::npos);
    }
  }
}

TEST_CASE(
    "a session that uses a legacy server's process with others listens for itself, and says its level with "
    "each request") {
  BridgeWorld world(config::Era::automatic);
  world.server->spoken = mcp::Era::legacy;
  world.config.isolation =
      GENERATE(config::Isolation::shared, config::Isolation::principal, config::Isolation::call);
  const bool hears_lists = world.config.isolation != config::Isolation::call;
  Asker asker;
  auto call = world.initialize(asker);
  world.server->last().answer(
      R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}})");
  REQUIRE(asker.heard.size() == 1);
  world.say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  world.turns();
  CHECK(world.server->forwarded.size() == 1);
  CHECK((world.server->asked.size() == 2) == hears_lists);
  if (hears_lists) {
    CHECK(world.server->last().request.method == Method::subscriptions_listen);
    CHECK(world.server->last().request.of_session());
    world.server->last().tell(
        R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}})");
  }

  Asker subscriber;
  auto subscribes = world.call(
      R"({"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}})", subscriber);
  world.turns();
  CHECK(world.server->last().says(R"("resourceSubscriptions":["file:///a"])"));
  CHECK(world.server->last().request.scope.session == "session-1");
  CHECK(subscriber.heard_nothing());
  world.server->last().tell(
      R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["file:///a"]}}})");
  world.turns();
  CHECK(subscriber.heard.size() == 1);
  auto& listen = world.server->last();
  listen.tell(R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}})");
  CHECK(world.client.told.size() == 1);

  Asker tool;
  auto first = world.call(kModernTool, tool);
  CHECK(world.server->last().text() == kModernTool);
  CHECK(world.server->last().request.client_era == mcp::Era::legacy);
  CHECK(world.server->last().request.log_wish.level == "info");
  CHECK_FALSE(world.server->last().request.log_wish.is_said);
  world.server->last().answer("{}");
  Asker level;
  auto sets =
      world.call(R"({"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}})", level);
  CHECK(world.server->last().request.method == Method::logging_set_level);
  world.server->last().answer("{}");
  auto second = world.call(kModernTool, tool);
  CHECK(world.server->last().request.log_wish.level == "error");
  CHECK(world.server->last().request.log_wish.is_said);
  world.server->last().answer("{}");
  CHECK(listen.cancelled.empty());
  world.bridge->close_scope(world.scope);
  world.turns();
  CHECK_FALSE(listen.cancelled.empty());
  world.server->scopes = 1;  // the world closes it once more
}

TEST_CASE("a fixed legacy server is left alone, and so are modern clients") {
  BridgeWorld world(config::Era::legacy);
  world.server->spoken = mcp::Era::legacy;
  Asker asker;
  auto call = world.call(kModernTool, asker);
  CHECK(world.server->last().text() == kModernTool);
  world.server->last().answer("{}");
  CHECK(asker.heard.size() == 1);
  CHECK(world.server->scopes == 1);
}

TEST_CASE("a client's notification about its roots carries its headers") {
  BridgeWorld world;
  world.begin(R"({"roots":{"listChanged":true}})");
  const core::HeaderFields headers{{"X-User", "alice"}};
  world.say(R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})", headers);
  REQUIRE(world.server->forwarded.size() == 1);
  CHECK(world.server->forwarded_with == headers);
}

TEST_CASE("the end of a session, and of the gateway, ends what it has under way") {
  BridgeWorld world;
  world.begin();
  Asker asker;
  auto call = world.call(kModernTool, asker);
  SECTION("the session's") {
    world.bridge->close_scope(world.scope);
    CHECK_FALSE(world.server->last().cancelled.empty());
  }
  SECTION("the gateway's, which takes no new calls") {
    bool done = false;
    world.bridge->stop([&] { done = true; });
    CHECK(done);
    CHECK(world.server->stopped);
    CHECK_FALSE(world.server->last().cancelled.empty());
    Asker late;
    auto refused = world.start(kModernTool, late);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().reason == EndReason::cancelled_drain);
  }
  REQUIRE(asker.failed);
  CHECK(asker.failed->reason == EndReason::cancelled_drain);
  CHECK_FALSE(call->live());
}
