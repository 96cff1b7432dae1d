// Calls that are under way at an HTTP server, in front of one that answers when the test says so.
#include "proxy/upstream/http/http_call_table.h"

#include "unit/proxy/upstream/http/http_world.h"

using namespace lineward;
using namespace lineward::upstream;
using core::CallPhase;
using mcp::EndReason;
using mcp::Era;
using mcp::Field;
using std::chrono::milliseconds;

namespace {

std::string acknowledged(const HttpAsked& listen) {
  return R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":)" +
         listen.id() + "}}}";
}

std::string answer(const std::string& id) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"content":[]}})";
}

// A legacy client's session, which it has initialised.
struct Session final : core::ScopeCallbacks {
  Session(HttpWorld& its_world, std::string its_name) : world(its_world) {
    scope.session = std::move(its_name);
    scope.principal = "p";
    world.its_upstream().open_scope(scope, *this);
    world.start(
        world.of(
            Era::legacy,
            R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}})",
            scope.session),
        initialize);
    REQUIRE(world.wait_for([&] { return initialize.over(); }));
    const size_t before = world.fake->streams.size();
    world.its_upstream().send(scope, Era::legacy,
                              parse(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), {});
    REQUIRE(world.wait_for([&] { return world.fake->streams.size() > before; }));
  }
  void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) override {
    heard.emplace_back(message.bytes(), only_call);
  }
  void on_scope_reset() override { ++resets; }
  void on_scope_ended() override { ++ended; }
  HttpWorld& world;
  core::Scope scope;
  Asker initialize;
  std::vector<std::pair<std::string, std::optional<uint64_t>>> heard;
  int resets = 0, ended = 0;
};

}  // namespace

TEST_CASE("an answer belongs to the call with that id, and to no other") {
  HttpWorld world(Era::modern);
  Asker one, two, three;
  world.start(world.request(Era::modern, "one"), one);
  world.start(world.request(Era::modern, "two"), two);
  REQUIRE(world.heard_of(2));
  HttpAsked &a = world.asked(0), &b = world.asked(1);
  CHECK(a.id() != b.id());
  // The other call's answer in the place of its own: it belongs to neither.
  world.fake->respond(a, 200, answer(b.id()));
  REQUIRE(world.wait_for([&] { return one.over(); }));
  REQUIRE(one.failed);
  CHECK(one.failed->reason == EndReason::upstream_protocol);
  CHECK_FALSE(two.over());
  world.fake->result(b);
  REQUIRE(world.wait_for([&] { return two.over(); }));
  CHECK(parse(two.heard.at(0)).raw(Field::id) == b.id());
  // An error that names nothing means the one request that it answers.
  world.start(world.request(Era::modern, "three"), three);
  REQUIRE(world.heard_of(3));
  world.fake->respond(world.asked(2), 200, R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}})");
  REQUIRE(world.wait_for([&] { return three.over(); }));
  CHECK_FALSE(three.failed);
  CHECK(parse(three.heard.at(0)).kind() == mcp::MessageKind::error);
}

TEST_CASE("on its stream a call gets its own progress, and no other call's") {
  HttpWorld world(Era::modern);
  Asker one;
  world.start(world.request(Era::modern, "one"), one);
  REQUIRE(world.heard_of(1));
  HttpAsked& call = world.asked(0);
  world.fake->event(call, progress(call.id()));
  world.fake->event(call, progress("4711"));
  world.fake->event(call, acknowledged(call));  // it is no listen
  world.fake->result(call);
  REQUIRE(world.wait_for([&] { return one.over(); }));
  REQUIRE(one.heard.size() == 2);
  CHECK(parse(one.heard[0]).raw(Field::params_progress_token) == call.id());
}

TEST_CASE("no more calls are in flight than may be; listens and parked calls take no place") {
  HttpWorld world(Era::modern);
  world.server.limits.max_in_flight = 1;
  Asker listens, one, two, three;
  world.start(world.listen(), listens);
  REQUIRE(world.heard_of(1));
  core::Call& first = world.start(world.request(Era::modern, "one"), one);
  REQUIRE(world.heard_of(2));
  world.start(world.request(Era::modern, "two"), two);
  world.turn();
  CHECK(two.phases.back() == CallPhase::queued);
  CHECK(world.fake->asked.size() == 2);
  first.hand_over(one, core::Handover::parked);
  REQUIRE(world.heard_of(3));
  first.hand_over(one, core::Handover::in_flight);
  world.start(world.request(Era::modern, "three"), three);
  world.turn();
  CHECK(three.phases.back() == CallPhase::queued);
  world.fake->result(world.asked(2));
  REQUIRE(world.wait_for([&] { return two.over(); }));
  world.turn();
  CHECK(world.fake->asked.size() == 3);  // the first is in flight again
  first.cancel("enough");
  REQUIRE(world.heard_of(4));
  world.fake->result(world.asked(3));
  REQUIRE(world.wait_for([&] { return three.over(); }));
}

TEST_CASE("a cancel closes the stream of a modern call; one that was not sent leaves its queue unheard") {
  HttpWorld world(Era::modern);
  world.server.limits.max_in_flight = 1;
  Asker one, two, three;
  core::Call& first = world.start(world.request(Era::modern, "one"), one);
  core::Call& second = world.start(world.request(Era::modern, "two"), two);
  world.start(world.request(Era::modern, "three"), three);
  REQUIRE(world.heard_of(1));
  second.cancel("enough");
  first.cancel("enough");
  REQUIRE(world.wait_for([&] { return world.fake->left(world.asked(0)); }));
  REQUIRE(world.heard_of(2));
  CHECK(world.asked(1).body.find("three") != std::string::npos);
  world.fake->result(world.asked(1));
  REQUIRE(world.wait_for([&] { return three.over(); }));
  CHECK(world.fake->asked.size() == 2);
  CHECK_FALSE(one.over());
  CHECK_FALSE(two.over());
}

TEST_CASE("with cancel: never the server is not told, and its late answer is swallowed") {
  HttpWorld world(Era::modern);
  world.server.cancel = config::CancelMode::never;
  Asker one, two;
  core::Call& call = world.start(world.request(Era::modern, "one"), one);
  REQUIRE(world.heard_of(1));
  call.cancel("enough");
  world.turn();
  world.start(world.request(Era::modern, "two"), two);
  REQUIRE(world.heard_of(2));
  CHECK_FALSE(world.fake->left(world.asked(0)));
  world.fake->result(world.asked(0));
  world.fake->result(world.asked(1));
  REQUIRE(world.wait_for([&] { return two.over(); }));
  CHECK_FALSE(one.over());
}

TEST_CASE("a listen that stood and is lost may be opened again; one that never stood is over") {
  HttpWorld world(Era::modern);
  Asker listens;
  world.start(world.listen(), listens);
  REQUIRE(world.heard_of(1));
  SECTION("it stood") {
    world.fake->event(world.asked(0), acknowledged(world.asked(0)));
    REQUIRE(world.wait_for([&] { return listens.heard.size() == 1; }));
    SECTION("and breaks: it is opened again above, however often that fails, and calls do not suffer") {
      world.server.circuit_breaker.consecutive_failures = 1;
      world.fake->close(world.asked(0));
      REQUIRE(world.wait_for([&] { return listens.failed.has_value(); }));
      CHECK(listens.failed->listen_loss == core::ListenLoss::broken);
      Asker again, call;
      core::UpstreamRequest request = world.listen();
      request.reopens = true;
      world.start(std::move(request), again);
      REQUIRE(world.heard_of(2));
      CHECK(world.asked(1).id() != world.asked(0).id());
      world.fake->respond(world.asked(1), 500);
      REQUIRE(world.wait_for([&] { return again.failed.has_value(); }));
      CHECK(again.failed->listen_loss == core::ListenLoss::broken);
      world.start(world.request(Era::modern, "one"), call);
      CHECK(world.heard_of(3));
    }
    // No cancel is owed.
    SECTION("and its server ends it in order") {
      world.fake->event(world.asked(0),
                        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
                            world.asked(0).id() + "}}");
      REQUIRE(world.wait_for([&] { return listens.heard.size() == 2; }));
      CHECK_FALSE(listens.failed);
    }
  }
  SECTION("it never stood") {
    world.fake->close(world.asked(0));
    REQUIRE(world.wait_for([&] { return listens.failed.has_value(); }));
    CHECK(listens.failed->listen_loss == core::ListenLoss::none);
  }
}

TEST_CASE("what comes on a session's stream for a call is the call's in that session, and in no other") {
  HttpWorld world(Era::legacy);
  Session first(world, "one"), second(world, "two");
  REQUIRE(world.fake->streams.size() == 2);
  HttpAsked &stream_of_first = *world.fake->streams[0], &stream_of_second = *world.fake->streams[1];
  CHECK(stream_of_first.header("Mcp-Session-Id") == "s-1");
  CHECK(stream_of_second.header("Mcp-Session-Id") == "s-2");
  Asker caller, other;
  world.start(world.request(Era::legacy, "slow", "one"), caller);
  REQUIRE(world.heard_of(1));
  CHECK(world.asked(0).header("Mcp-Session-Id") == "s-1");
  const std::string id = world.asked(0).id();
  world.fake->event(stream_of_second, progress(id));
  world.fake->event(stream_of_second, answer(id));
  // They were read before this call's answer is.
  world.start(world.request(Era::legacy, "fast", "two"), other);
  REQUIRE(world.heard_of(2));
  world.fake->event(stream_of_second, answer(world.asked(1).id()));
  REQUIRE(world.wait_for([&] { return other.over(); }));
  CHECK(caller.heard.empty());
  CHECK_FALSE(caller.failed);
  world.fake->event(stream_of_first, progress(id));
  world.fake->event(stream_of_first, answer(id));
  REQUIRE(world.wait_for([&] { return caller.over(); }));
  CHECK(caller.heard.size() == 2);
}

TEST_CASE("a legacy server is told of a cancel in the session of the call, and then the stream is closed") {
  HttpWorld world(Era::legacy);
  Session first(world, "one"), second(world, "two");
  Asker caller;
  core::Call& call = world.start(world.request(Era::legacy, "slow", "two"), caller);
  REQUIRE(world.heard_of(1));
  call.cancel("enough");
  REQUIRE(world.heard_of(2));
  HttpAsked& cancel = world.asked(1);
  CHECK(cancel.rpc() == "notifications/cancelled");
  CHECK(cancel.header("Mcp-Session-Id") == "s-2");
  CHECK(parse(cancel.body).raw(Field::params_request_id) == world.asked(0).id());
  CHECK(parse(cancel.body).text(Field::params_reason) == "enough");
  world.fake->respond(cancel, 202);
  CHECK(world.wait_for([&] { return world.fake->left(world.asked(0)); }));
  CHECK(world.fake->asked.size() == 2);
}

TEST_CASE(
    "a log line goes to the call in flight where a cancelled one was of the same caller (behaviour.md 14)") {
  HttpWorld world(Era::legacy);
  Asker left, stays, later;
  auto with_level = [&](const std::string& tool) {
    return world.of(
        Era::modern,
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool +
            R"(","_meta":{"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/clientCapabilities":{}}}})");
  };
  const std::string line =
      R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}})";
  SECTION("within timeouts.cancelGrace") {
    world.server.timeouts.cancel_grace = milliseconds(60000);
  }
  SECTION("after it") {
    world.server.timeouts.cancel_grace = milliseconds(0);
  }
  core::Call& call = world.start(with_level("left"), left);
  world.start(with_level("stays"), stays);
  // Answers what is none of the test's business; how many tools were called.
  auto tools = [&] {
    size_t calls = 0;
    for (auto& one : world.fake->asked) {
      if (!one->answered && one->rpc() == "logging/setLevel") world.fake->result(*one, "{}");
      if (!one->answered && one->rpc() == "notifications/cancelled") world.fake->respond(*one, 202);
      calls += one->rpc() == "tools/call" ? 1 : 0;
    }
    return calls;
  };
  REQUIRE(world.wait_for([&] { return tools() == 2; }));
  REQUIRE(world.fake->streams.size() == 1);
  auto called = [&](const std::string& tool) {
    for (auto& one : world.fake->asked) {
      if (one->body.find('"' + tool + '"') != std::string::npos) return one;
    }
    FAIL("it was not called");
    return std::shared_ptr<HttpAsked>();
  };
  call.cancel("enough");
  REQUIRE(world.wait_for([&] { return tools() == 2 && world.fake->left(*called("left")); }));
  world.fake->event(*world.fake->streams[0], line);
  REQUIRE(world.wait_for([&] { return !stays.heard.empty(); }));
  world.fake->event(*world.fake->streams[0], answer(called("stays")->id()));
  REQUIRE(world.wait_for([&] { return stays.over(); }));
  CHECK(stays.heard.size() == 2);
}

TEST_CASE("a call that its session did not know is made again in the next one, once") {
  HttpWorld world(Era::legacy);
  Asker caller;
  world.start(world.request(Era::modern, "n"), caller);
  REQUIRE(world.heard_of(1));
  CHECK(world.asked(0).header("Mcp-Session-Id") == "s-1");
  world.fake->respond(world.asked(0), 404);
  REQUIRE(world.heard_of(2));
  CHECK(world.asked(1).header("Mcp-Session-Id") == "s-2");
  CHECK_FALSE(caller.over());
  SECTION("where it is answered") {
    world.fake->result(world.asked(1));
    REQUIRE(world.wait_for([&] { return caller.over(); }));
    CHECK_FALSE(caller.failed);
  }
  SECTION("where it is not known either") {
    world.fake->respond(world.asked(1), 404);
    REQUIRE(world.wait_for([&] { return caller.over(); }));
    REQUIRE(caller.failed);
    CHECK(caller.failed->reason == EndReason::upstream_protocol);
    CHECK_FALSE(caller.failed->session_over);
    CHECK(world.fake->asked.size() == 2);
  }
}

TEST_CASE("a legacy client with a lost session has to initialise anew, and its call is not made again") {
  HttpWorld world(Era::legacy);
  Session session(world, "one");
  Asker caller;
  world.start(world.request(Era::legacy, "n", "one"), caller);
  REQUIRE(world.heard_of(1));
  world.fake->respond(world.asked(0), 404);
  REQUIRE(world.wait_for([&] { return caller.over(); }));
  REQUIRE(caller.failed);
  CHECK(caller.failed->session_over);
  CHECK(session.ended == 1);
  CHECK(world.fake->asked.size() == 1);
}

TEST_CASE("a legacy stream that breaks off goes on where it was, and fails when that cannot be") {
  HttpWorld world(Era::legacy);
  Session session(world, "one");
  Asker caller;
  world.start(world.request(Era::legacy, "n", "one"), caller);
  REQUIRE(world.heard_of(1));
  world.fake->event(world.asked(0), progress(world.asked(0).id()), "e-7\nretry: 1");
  REQUIRE(world.wait_for([&] { return !caller.heard.empty(); }));
  world.fake->close(world.asked(0));
  REQUIRE(world.heard_of(2));
  HttpAsked& again = world.asked(1);
  CHECK(again.method == "GET");
  CHECK(again.header("Last-Event-ID") == "e-7");
  CHECK(again.header("Mcp-Session-Id") == "s-1");
  SECTION("it goes on") {
    world.fake->event(again, answer(world.asked(0).id()));
    REQUIRE(world.wait_for([&] { return caller.over(); }));
    CHECK_FALSE(caller.failed);
  }
  SECTION("the server does not know it any more") {
    world.fake->respond(again, 405);
    REQUIRE(world.wait_for([&] { return caller.over(); }));
    REQUIRE(caller.failed);
    CHECK(caller.failed->reason == EndReason::upstream_unreachable);
  }
}

TEST_CASE("a stream that continues a paused one is paused too") {
  HttpWorld world(Era::legacy);
  Session session(world, "one");
  Asker caller;
  core::Call& call = world.start(world.request(Era::legacy, "n", "one"), caller);
  REQUIRE(world.heard_of(1));
  bool has_paused = false;
  caller.then = [&] { has_paused = has_paused || call.pause(); };
  world.fake->event(world.asked(0), progress(world.asked(0).id()), "e-7\nretry: 1");
  world.fake->end(world.asked(0));  // arrives with the event
  REQUIRE(world.heard_of(2));
  REQUIRE(has_paused);
  size_t known = 2;
  const auto another_call = [&] {
    Asker other;
    world.start(world.request(Era::legacy, "other", "one"), other);
    REQUIRE(world.heard_of(++known));
    world.fake->result(world.asked(known - 1));
    REQUIRE(world.wait_for([&] { return other.over(); }));
  };
  world.fake->open_stream(world.asked(1));
  another_call();  // the head has arrived
  world.fake->event(world.asked(1), answer(world.asked(0).id()));
  another_call();
  CHECK(caller.heard.size() == 1);
  call.resume();
  REQUIRE(world.wait_for([&] { return caller.over(); }));
  CHECK_FALSE(caller.failed);
}

TEST_CASE("a response that ends without the answer is a failure") {
  HttpWorld world(Era::modern);
  Asker one, two;
  world.start(world.request(Era::modern, "one"), one);
  REQUIRE(world.heard_of(1));
  SECTION("in order") {
    world.fake->respond(world.asked(0), 202);
  }
  SECTION("with its connection") {
    world.fake->open_stream(world.asked(0));
    world.fake->close(world.asked(0));
  }
  SECTION("with a refusal") {
    world.fake->respond(world.asked(0), 500);
  }
  REQUIRE(world.wait_for([&] { return one.over(); }));
  REQUIRE(one.failed);
  world.start(world.request(Era::modern, "two"), two);
  REQUIRE(world.heard_of(2));
  world.fake->result(world.asked(1));
  REQUIRE(world.wait_for([&] { return two.over(); }));
}
