#include "proxy/upstream/bridge/bridge_call.h"

#include "unit/proxy/upstream/bridge/bridge_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;
using mcp::Method;

namespace {

const std::string kTool =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1.0}}})";
const std::string kAsks =
    R"({"resultType":"input_required","requestState":"s","inputRequests":{"who":{"method":)"
    R"("elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object"}}}}})";
const std::string kAsksModel =
    R"({"resultType":"input_required","inputRequests":{"m":{"method":"sampling/createMessage",)"
    R"("params":{"messages":[],"maxTokens":1}}}})";

}  // namespace

TEST_CASE("a legacy client's call on a modern server") {
  BridgeWorld world;
  world.begin();
  Asker asker;
  auto call = world.call(kTool, asker, 7);
  Asked& asked = world.server->last();
  CHECK(asked.request.method == Method::tools_call);
  CHECK(asked.request.client_era == mcp::Era::modern);
  CHECK(asked.request.tag == 7);
  CHECK(asked.says(R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")"));
  CHECK(asked.says(R"({"a":1.0})"));

  SECTION("is written once, and its notifications and its answer pass") {
    asked.owner->on_call_phase(core::CallPhase::written);
    asked.owner->on_call_phase(core::CallPhase::written);
    CHECK(asker.phases.size() == 1);
    asked.tell(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}})");
    asked.answer(R"({"content":[],"n":1.50})");
    REQUIRE(asker.heard.size() == 2);
    CHECK(has(asker.heard[1], R"("n":1.50)"));
    CHECK_FALSE(call->live());
  }
  SECTION("an error passes") {
    asked.refuse(-32602);
    REQUIRE(asker.heard.size() == 1);
    CHECK(has(asker.heard[0], "-32602"));
  }
  SECTION("a result of an unknown type does not") {
    asked.answer(R"({"resultType":"mystery"})");
    REQUIRE(asker.failed);
    CHECK(asker.failed->reason == EndReason::upstream_protocol);
  }
  SECTION("the end of the server is the end of the call") {
    asked.fail(EndReason::upstream_exited);
    REQUIRE(asker.failed);
    CHECK(asker.failed->reason == EndReason::upstream_exited);
    CHECK_FALSE(call->live());
  }
  SECTION("a cancel reaches the server, and the call reports nothing after it") {
    call->cancel("the user left");
    CHECK(asked.cancelled == "the user left");
    CHECK_FALSE(call->live());
    CHECK(asker.heard_nothing());
  }
  world.turns();
}

TEST_CASE("a server that is gone refuses the call at once, and the session goes on") {
  BridgeWorld world;
  world.begin();
  world.server->takes_calls = false;
  Asker asker;
  auto refused = world.start(kTool, asker);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reason == EndReason::upstream_exited);
  CHECK(asker.heard_nothing());
  world.server->takes_calls = true;
  auto call = world.call(kTool, asker);
  world.server->last().answer("{}");
  CHECK(asker.heard.size() == 1);
}

TEST_CASE("what a modern server asks for comes to the legacy client as a question") {
  BridgeWorld world;
  world.begin(R"({"elicitation":{},"sampling":{}})");
  Asker asker;
  auto call = world.call(kTool, asker, 7);
  const size_t before = world.server->asked.size();

  SECTION("and goes back as a retry with the answer and the server's state") {
    world.server->last().answer(kAsks);
    REQUIRE(world.client.told.size() == 1);
    CHECK(has(world.client.told[0], R"("method":"elicitation/create")"));
    CHECK(has(world.client.told[0], R"("id":1)"));
    CHECK(world.client.tags[0] == 7);
    world.say(R"({"jsonrpc":"2.0","id":99,"result":{"action":"decline"}})");  // of no question
    world.turns();
    CHECK(world.server->asked.size() == before);
    world.say(R"({"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":2.0}}})");
    world.turns();
    REQUIRE(world.server->asked.size() == before + 1);
    CHECK(world.server->last().says(R"("requestState":"s")"));
    CHECK(world.server->last().says(R"("who":{"action":"accept","content":{"n":2.0}})"));
    CHECK(world.server->last().says(R"({"a":1.0})"));
    CHECK(asker.heard_nothing());
    world.server->last().answer(R"({"content":[]})");
    CHECK(asker.heard.size() == 1);
  }
  SECTION("an error in place of an elicitation's answer is a cancel") {
    world.server->last().answer(kAsks);
    world.say(R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}})");
    world.turns();
    REQUIRE(world.server->asked.size() == before + 1);
    CHECK(world.server->last().says(R"("who":{"action":"cancel"})"));
    call->cancel("enough");
  }
  SECTION("an error in place of the model's answer ends the call with it") {
    world.server->last().answer(kAsksModel);
    world.say(R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"user said no"}})");
    world.turns();
    CHECK(world.server->asked.size() == before);
    REQUIRE(asker.heard.size() == 1);
    CHECK(has(asker.heard[0], "user said no"));
  }
  SECTION("a cancel takes it back, and the server has nothing to be told of") {
    world.server->last().answer(kAsks);
    call->cancel("the user left");
    REQUIRE(world.client.told.size() == 2);
    CHECK(has(world.client.told[1], R"("method":"notifications/cancelled")"));
    CHECK(has(world.client.told[1], R"("requestId":1)"));
    CHECK(world.server->last().cancelled.empty());
    world.say(R"({"jsonrpc":"2.0","id":1,"result":{"action":"accept"}})");
    world.turns();
    CHECK(world.server->asked.size() == before);
    CHECK(asker.heard_nothing());
  }
  SECTION("a state alone is brought back without the client") {
    world.server->last().answer(R"({"resultType":"input_required","requestState":"later"})");
    CHECK(world.wait_for([&] { return world.server->asked.size() > before; }));
    CHECK(world.client.told.empty());
    CHECK(world.server->last().says(R"("requestState":"later")"));
    call->cancel("enough");
  }
  SECTION("a hundred times, and no more") {
    for (int id = 1; id <= 100; ++id) {
      world.server->last().answer(kAsks);
      REQUIRE(asker.heard_nothing());
      world.say(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":{"action":"accept"}})");
      world.turns();
      REQUIRE(world.server->asked.size() == before + static_cast<size_t>(id));
    }
    world.server->last().answer(kAsks);
    REQUIRE(asker.failed);
    CHECK(has(asker.failed->text, "100 times"));
  }
  SECTION("one that is broken ends the call") {
    world.server->last().answer(R"({"resultType":"input_required"})");
    REQUIRE(asker.failed);
    CHECK(asker.failed->reason == EndReason::upstream_protocol);
  }
}

TEST_CASE("a client is not asked what it did not declare, nor during what may not ask") {
  BridgeWorld world;
  world.begin();
  Asker asker;
  SECTION("undeclared") {
    auto call = world.call(kTool, asker);
    world.server->last().answer(kAsksModel);
    world.turns();
    CHECK(world.client.told.empty());
    REQUIRE(asker.heard.size() == 1);
    CHECK(has(asker.heard[0], "did not declare: sampling"));
  }
  SECTION("during a list") {
    auto call = world.call(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})", asker);
    world.server->last().answer(kAsks);
    REQUIRE(asker.failed);
    CHECK(has(asker.failed->text, "may not ask"));
  }
}

TEST_CASE("a legacy server behind others asks during its call, and hears the answer under its own id") {
  BridgeWorld world;
  world.begin(R"({"sampling":{}})");
  Asker asker;
  auto call = world.call(kTool, asker, 7);
  Asked& asked = world.server->last();
  asked.tell(R"({"jsonrpc":"2.0","id":"its","method":"sampling/createMessage","params":{}})");
  REQUIRE(world.client.told.size() == 1);
  CHECK(has(world.client.told[0], R"("id":1)"));
  SECTION("answered") {
    world.say(R"({"jsonrpc":"2.0","id":1,"result":{"role":"assistant"}})");
    REQUIRE(asked.replies.size() == 1);
    CHECK(has(asked.replies[0], R"("id":"its")"));
    CHECK(has(asked.replies[0], R"("role":"assistant")"));
  }
  SECTION("taken back by the server") {
    asked.tell(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"its"}})");
    REQUIRE(world.client.told.size() == 2);
    CHECK(has(world.client.told[1], R"("requestId":1)"));
    CHECK(asker.heard.empty());
  }
  SECTION("what this client did not declare is refused in its place") {
    asked.tell(R"({"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{}})");
    REQUIRE(asked.replies.size() == 1);
    CHECK(has(asked.replies[0], "-32601"));
    CHECK(world.client.told.size() == 1);
  }
  asked.answer("{}");
  CHECK(asker.heard.size() == 1);
}
