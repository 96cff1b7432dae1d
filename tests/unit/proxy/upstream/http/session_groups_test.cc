// The sessions of callers with a legacy HTTP server: the opening of one, the calls that wait for it, and the
// receivers of its messages.
#include "proxy/upstream/http/session_groups.h"

#include "unit/proxy/upstream/http/http_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;
using mcp::Era;
using mcp::Field;
using std::chrono::milliseconds;

namespace {

const std::string kChanged = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

std::string question(const std::string& raw_id) {
  return R"({"jsonrpc":"2.0","id":)" + raw_id +
         R"(,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}})";
}

core::UpstreamRequest who_can_be_asked(HttpWorld& world, const std::string& tool) {
  return world.of(Era::modern,
                  R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool +
                      R"(","_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}})");
}

}  // namespace

TEST_CASE("a session is opened once for all calls that wait for it, and they go when it is there") {
  HttpWorld world(Era::legacy);
  world.fake->holds_handshake = true;
  Asker one, two;
  world.start(world.request(Era::modern, "one"), one);
  world.start(world.request(Era::modern, "two"), two);
  REQUIRE(world.heard_of(1));
  CHECK(world.asked(0).rpc() == "initialize");
  world.turn();
  CHECK(world.fake->asked.size() == 1);
  CHECK(one.phases.back() == core::CallPhase::starting);
  world.fake->welcome(world.asked(0));
  REQUIRE(world.heard_of(3));
  for (size_t at : {1, 2}) {
    CHECK(world.asked(at).header("Mcp-Session-Id") == "s-1");
    world.fake->result(world.asked(at));
  }
  CHECK(world.wait_for([&] { return one.over() && two.over(); }));
}

TEST_CASE("if a session cannot be opened the waiting calls get the reason, and the next one tries again") {
  HttpWorld world(Era::legacy);
  world.fake->holds_handshake = true;
  Asker one, two, three;
  world.start(world.request(Era::modern, "one"), one);
  world.start(world.request(Era::modern, "two"), two);
  REQUIRE(world.heard_of(1));
  world.fake->respond(world.asked(0), 500, R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}})");
  REQUIRE(world.wait_for([&] { return one.over() && two.over(); }));
  CHECK(one.failed);
  CHECK(two.failed);
  world.fake->holds_handshake = false;
  world.start(world.request(Era::modern, "three"), three);
  REQUIRE(world.heard_of(2));
  CHECK(world.asked(1).rpc() == "tools/call");
  world.fake->result(world.asked(1));
  CHECK(world.wait_for([&] { return three.over(); }));
}

TEST_CASE("a server has so many sessions and no more") {
  HttpWorld world(Era::legacy);
  world.server.limits.max_sessions = 1;
  world.server.isolation = config::Isolation::principal;
  Asker one, two;
  core::UpstreamRequest first = world.request(Era::modern, "one"), second = world.request(Era::modern, "two");
  first.scope.principal = "ada";
  second.scope.principal = "bob";
  world.start(std::move(first), one);
  REQUIRE(world.heard_of(1));
  world.start(std::move(second), two);
  REQUIRE(world.wait_for([&] { return two.over(); }));
  REQUIRE(two.failed);
  CHECK(two.failed->reason == EndReason::queue_full);
  CHECK(two.failed->text.find("limits.maxSessions") != std::string::npos);
  world.fake->result(world.asked(0));
  CHECK(world.wait_for([&] { return one.over(); }));
}

TEST_CASE("a session waits while all connections of all origins are in use") {
  HttpWorld world(Era::legacy);
  world.server.isolation = config::Isolation::principal;
  world.server.limits.max_connections = 2;
  world.server.urls = {{world.fake->url()}};
  Asker one, two;
  core::UpstreamRequest first = world.request(Era::modern, "one"), second = world.request(Era::modern, "two");
  first.scope.principal = "ada";
  second.scope.principal = "bob";
  world.start(std::move(first), one);
  REQUIRE(world.heard_of(1));
  REQUIRE(world.wait_for([&] { return world.fake->streams.size() == 1; }));
  world.start(std::move(second), two);
  world.turn();
  const auto waits = [&] { return !two.phases.empty() && two.phases.back() == core::CallPhase::queued; };
  REQUIRE(world.wait_for([&] { return waits() || two.over(); }));
  REQUIRE(waits());
  world.fake->result(world.asked(0));
  REQUIRE(world.wait_for([&] { return one.over(); }));
  REQUIRE(world.heard_of(2));
  world.fake->result(world.asked(1));
  CHECK(world.wait_for([&] { return two.over(); }));
  CHECK_FALSE(two.failed);
}

TEST_CASE("a call that waits for a connection gets that of a message of Lineward's own") {
  HttpWorld world(Era::legacy);
  world.server.limits.max_connections = 2;
  Asker one, two;
  core::Call& call = world.start(world.request(Era::modern, "one"), one);
  REQUIRE(world.heard_of(1));
  REQUIRE(world.wait_for([&] { return world.fake->streams.size() == 1; }));
  call.cancel("enough");
  REQUIRE(world.heard_of(2));
  CHECK(world.asked(1).rpc() == "notifications/cancelled");
  world.start(world.request(Era::modern, "two"), two);
  REQUIRE(world.wait_for([&] { return !two.phases.empty(); }));
  CHECK(two.phases.back() == core::CallPhase::queued);
  const auto since = world.loop.now();
  world.fake->respond(world.asked(1), 202);
  REQUIRE(world.heard_of(3));
  CHECK(world.loop.now() - since < milliseconds(2000));
  world.fake->result(world.asked(2));
  CHECK(world.wait_for([&] { return two.over(); }));
}

TEST_CASE("a legacy client's session that it never initialised is none") {
  HttpWorld world(Era::legacy);
  Asker caller;
  world.start(world.request(Era::legacy, "n", "unknown"), caller);
  REQUIRE(world.wait_for([&] { return caller.over(); }));
  REQUIRE(caller.failed);
  CHECK(caller.failed->text.find("never initialised") != std::string::npos);
  CHECK(world.fake->initialized == 0);
}

TEST_CASE("a listen has a session, and another one after its loss; missed changes are reported") {
  HttpWorld world(Era::legacy);
  Asker listens, caller;
  world.start(world.listen(), listens);
  REQUIRE(world.wait_for([&] { return !listens.heard.empty(); }));
  CHECK(parse(listens.heard[0]).method() == "notifications/subscriptions/acknowledged");
  REQUIRE(world.fake->streams.size() == 1);
  world.fake->event(*world.fake->streams[0], kChanged);
  REQUIRE(world.wait_for([&] { return listens.heard.size() == 2; }));
  world.start(world.request(Era::modern, "n"), caller);
  REQUIRE(world.heard_of(1));
  world.fake->respond(world.asked(0), 404);
  REQUIRE(world.wait_for([&] { return world.fake->streams.size() == 2; }));
  REQUIRE(world.wait_for([&] { return listens.heard.size() >= 3; }));
  CHECK(world.fake->streams[1]->header("Mcp-Session-Id") == "s-2");
  CHECK_FALSE(listens.over());
  REQUIRE(world.heard_of(2));
  world.fake->result(world.asked(1));
  CHECK(world.wait_for([&] { return caller.over(); }));
  // Messages of the old one are not delivered any more.
  const size_t heard = listens.heard.size();
  world.fake->event(*world.fake->streams[0], kChanged);
  world.fake->event(*world.fake->streams[1], kChanged);
  REQUIRE(world.wait_for([&] { return listens.heard.size() > heard; }));
  CHECK(listens.heard.size() == heard + 1);
}

TEST_CASE("a question belongs to the call of its stream; on the session's, to the one call that may ask") {
  HttpWorld world(Era::legacy);
  Asker caller;
  core::Call& call = world.start(who_can_be_asked(world, "n"), caller);
  REQUIRE(world.heard_of(1));
  REQUIRE(world.wait_for([&] { return world.fake->streams.size() == 1; }));
  const bool on_its_own = GENERATE(true, false);
  world.fake->event(on_its_own ? world.asked(0) : *world.fake->streams[0], question("7"));
  REQUIRE(world.wait_for([&] { return caller.heard.size() == 1; }));
  CHECK(parse(caller.heard[0]).raw(Field::id) == "7");
  SECTION("and answered") {
    call.reply(R"({"jsonrpc":"2.0","id":7,"result":{"action":"accept"}})");
    REQUIRE(world.heard_of(2));
    CHECK(world.asked(1).header("Mcp-Session-Id") == "s-1");
    CHECK(parse(world.asked(1).body).raw(Field::id) == "7");
    world.fake->respond(world.asked(1), 202);
  }
  SECTION("or taken back") {
    world.fake->event(world.asked(0),
                      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
    REQUIRE(world.wait_for([&] { return caller.heard.size() == 2; }));
    CHECK(parse(caller.heard[1]).method() == "notifications/cancelled");
  }
  SECTION("or refused, when the call is over before") {
    call.cancel("enough");
    REQUIRE(world.heard_of(3));
    CHECK(world.asked(1).rpc() == "notifications/cancelled");
    world.fake->respond(world.asked(1), 202);
    CHECK(parse(world.asked(2).body).raw(Field::id) == "7");
    CHECK(parse(world.asked(2).body).kind() == mcp::MessageKind::error);
    world.fake->respond(world.asked(2), 202);
  }
}

TEST_CASE("callers that can be asked take turns, each in a session without any other call that may ask") {
  HttpWorld world(Era::legacy);
  world.server.instances = 1;
  Asker one, two;
  world.start(who_can_be_asked(world, "one"), one);
  world.start(who_can_be_asked(world, "two"), two);
  REQUIRE(world.heard_of(1));
  world.turn();
  CHECK(world.fake->asked.size() == 1);
  CHECK(two.phases.back() == core::CallPhase::queued);
  world.fake->result(world.asked(0));
  REQUIRE(world.wait_for([&] { return one.over(); }));
  REQUIRE(world.heard_of(2));
  CHECK(world.asked(1).header("Mcp-Session-Id") == "s-1");
  world.fake->result(world.asked(1));
  CHECK(world.wait_for([&] { return two.over(); }));
}

TEST_CASE("a question that no client can be asked is refused at once") {
  HttpWorld world(Era::legacy);
  Asker caller;
  world.start(world.request(Era::modern, "n"), caller);  // declares nothing
  REQUIRE(world.heard_of(1));
  REQUIRE(world.wait_for([&] { return world.fake->streams.size() == 1; }));
  world.fake->result(world.asked(0));
  REQUIRE(world.wait_for([&] { return caller.over(); }));
  world.fake->event(*world.fake->streams[0], question("7"));
  REQUIRE(world.heard_of(2));
  CHECK(parse(world.asked(1).body).raw(Field::id) == "7");
  CHECK(parse(world.asked(1).body).kind() == mcp::MessageKind::error);
  world.fake->respond(world.asked(1), 202);
  CHECK(caller.heard.size() == 1);
}
