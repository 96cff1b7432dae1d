// An exchange between correct neighbours: the messages to its client and its server, and its end.
#include "proxy/exchange/exchange.h"

#include <chrono>

#include "unit/proxy/exchange/exchange_world.h"

using namespace lineward;
using namespace lineward::exchange;
using mcp::EndReason;
using mcp::Era;
using mcp::Field;
using std::chrono::milliseconds;

namespace {

const std::string kCall =
    R"({"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"n","_meta":{"progressToken":"t"}}})";
const std::string kListen =
    R"({"jsonrpc":"2.0","id":"mine","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}})";
const std::string kAsking =
    R"({"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"n","_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}})";
const std::string kInitialize =
    R"({"jsonrpc":"2.0","id":"mine","method":"initialize","params":{"protocolVersion":"2025-11-25"}})";
const std::string kQuestion =
    R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object","properties":{}}}})";
const std::string kAcknowledged =
    R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":17}}})";
const std::string kChanged =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":17}}})";
const std::string kAnswer = R"({"jsonrpc":"2.0","id":17,"result":{"content":[]}})";
const std::string kLog =
    R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}})";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an answer goes to the client under its own id, and ends the exchange once") {
  Client client;
  ExchangeWorld world;
  Exchange& exchange = world.begin(client, kCall);
  CHECK(world.upstream.calls.size() == 1);
  CHECK(exchange.waits());
  exchange.on_call_phase(core::CallPhase::written);
  CHECK_FALSE(exchange.waits());
  world.upstream.call().answers(kAnswer);
  CHECK(client.answered().raw(Field::id) == R"("mine")");
  CHECK(has(*client.answer, R"("result":{"content":[]})"));
  CHECK(client.status == 200);
  CHECK(exchange.ended());
  CHECK(exchange.server_answer() == ServerAnswer::result);
  // Later events have no effect.
  exchange.client_left(EndReason::cancelled_client);
  exchange.cancel(EndReason::cancelled_operator, "x");
  exchange.on_call_message(parse(kAnswer));
  exchange.on_call_failed({EndReason::upstream_exited, "x"});
  CHECK_FALSE(exchange.send(kLog));
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].reason == EndReason::ok);
  CHECK(world.retired == 1);
  CHECK(world.cancelling_by.empty());
  CHECK_FALSE(world.upstream.call().cancelled);
}

TEST_CASE("what an answer says decides the reason that is told of the end") {
  struct Way {
    std::string answer;
    EndReason reason;
    int code;
  };
  for (const Way& way :
       {Way{R"({"jsonrpc":"2.0","id":17,"error":{"code":-32602,"message":"x"}})", EndReason::rpc_error,
            -32602},
        Way{R"({"jsonrpc":"2.0","id":17,"result":{"isError":true}})", EndReason::tool_error, 0},
        Way{R"({"jsonrpc":"2.0","id":17,"result":{"resultType":"input_required"}})",
            EndReason::input_required, 0}}) {
    INFO(way.answer);
    Client client;
    ExchangeWorld world;
    world.begin(client, kCall);
    world.upstream.call().answers(way.answer);
    REQUIRE(world.ends.size() == 1);
    CHECK(world.ends[0].reason == way.reason);
    CHECK(world.ends[0].code == way.code);
    CHECK(client.answered().raw(Field::id) == R"("mine")");
  }
}

TEST_CASE("progress goes on under the client's own token, and only where it named one") {
  Client client, other;
  ExchangeWorld world;
  world.begin(client, kCall);
  world.upstream.call().says(progress("17"));
  CHECK(client.last().raw(Field::params_progress_token) == R"("t")");
  world.upstream.call().says(kLog);
  CHECK(client.sent.back() == kLog);
  CHECK(client.sent.size() == 2);
  world.begin(other, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n"}})");
  world.upstream.call().says(progress("18"));
  CHECK(other.sent.empty());
}

TEST_CASE("a client that reads slowly holds its server back until it has read, where that can be") {
  Client client;
  ExchangeWorld world;
  world.server.timeouts.request = milliseconds(40);
  Exchange& exchange = world.begin_written(client, kCall);
  ServersCall& call = world.upstream.call();
  SECTION("it can be") {
    client.slow = true;
    call.says(kLog);
    CHECK(call.paused);
    REQUIRE(client.drained);
    // The server's time does not run meanwhile.
    net::Timer relief(world.loop);
    relief.start(milliseconds(100), [&] {
      CHECK_FALSE(exchange.ended());
      client.slow = false;
      client.drained();
      CHECK_FALSE(call.paused);
      CHECK_FALSE(exchange.ended());
    });
    CHECK(world.wait_for([&] { return exchange.ended(); }));
    CHECK(world.ends.at(0).reason == EndReason::timeout_request);
  }
  SECTION("it would stop others too") {
    call.can_pause = false;
    client.slow = true;
    call.says(kLog);
    CHECK_FALSE(call.paused);
    CHECK_FALSE(client.drained);
  }
}

TEST_CASE("a client that is gone has its call cancelled, and gets no answer") {
  Client client;
  ExchangeWorld world;
  Exchange& exchange = world.begin(client, kCall);
  exchange.client_left(EndReason::cancelled_client);
  CHECK(world.upstream.call().cancelled == "the client went away");
  CHECK(world.cancelling_by == std::vector{metrics::CancelInitiator::client});
  CHECK_FALSE(client.answer);
  CHECK_FALSE(client.ended_empty);
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].reason == EndReason::cancelled_client);
}

TEST_CASE(
    "a client that cancels by a message gets the end of its stream, and its reason goes to the server") {
  Client client;
  ExchangeWorld world;
  Exchange& exchange = world.begin(client, kCall);
  exchange.cancel(EndReason::cancelled_client, "enough");
  CHECK(world.upstream.call().cancelled == "enough");
  CHECK(client.ended_empty);
  CHECK_FALSE(client.answer);
}

TEST_CASE("any other end has its reason, under the client's id") {
  Client client;
  ExchangeWorld world;
  Exchange& exchange = world.begin(client, kCall);
  exchange.cancel(EndReason::cancelled_operator, "for maintenance");
  CHECK(world.upstream.call().cancelled == "for maintenance");
  CHECK(client.answered().raw(Field::id) == R"("mine")");
  CHECK(has(*client.answer, "for maintenance"));
  CHECK(has(*client.answer, R"("reason":"cancelled_operator")"));
}

TEST_CASE("a limit that runs out cancels the call and names itself") {
  Client client;
  ExchangeWorld world;
  EndReason reason{};
  SECTION("of the server's work") {
    world.server.timeouts.request = milliseconds(20);
    world.begin(client, kCall).on_call_phase(core::CallPhase::written);
    reason = EndReason::timeout_request;
  }
  SECTION("of the client's own wish") {
    world
        .begin(
            client,
            R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","_meta":{"io.lineward/timeoutMs":20}}})")
        .on_call_phase(core::CallPhase::written);
    reason = EndReason::timeout_request;
  }
  SECTION("of the queue") {
    world.server.limits.queue_timeout = milliseconds(20);
    world.begin(client, kCall);
    reason = EndReason::timeout_queue;
  }
  SECTION("of the start") {
    world.server.timeouts.startup = milliseconds(20);
    world.begin(client, kCall).on_call_phase(core::CallPhase::starting);
    reason = EndReason::timeout_startup;
  }
  REQUIRE(world.wait_for([&] { return client.answer.has_value(); }));
  CHECK(has(*client.answer, mcp::name(reason)));
  CHECK(has(*client.answer, R"("limitMs":20)"));
  CHECK(world.upstream.call().cancelled);
  CHECK(world.cancelling_by == std::vector{metrics::CancelInitiator::timeout});
}

TEST_CASE("while the client is asked its server's time stands still; then it begins again") {
  Client client;
  ExchangeWorld world;
  world.server.timeouts.request = milliseconds(50);
  Exchange& exchange = world.begin_written(client, kCall);
  REQUIRE(exchange.ask(kQuestion));
  CHECK(client.sent == std::vector{kQuestion});
  milliseconds answered{0};
  net::Timer later(world.loop);
  later.start(milliseconds(120), [&] {
    CHECK_FALSE(exchange.ended());
    exchange.answered();
    answered = world.loop.now();
  });
  REQUIRE(world.wait_for([&] { return exchange.ended(); }));
  CHECK(world.loop.now() - answered >= milliseconds(50));
  CHECK(world.ends.at(0).reason == EndReason::timeout_request);
  CHECK_FALSE(exchange.ask(kQuestion));
}

TEST_CASE("a client that takes no events is not asked") {
  Client client;
  ExchangeWorld world;
  client.takes = false;
  Exchange& exchange = world.begin(client, kCall);
  CHECK_FALSE(exchange.ask(kQuestion));
  CHECK(client.sent.empty());
}

TEST_CASE("a failure is told with what the client has to know of it") {
  Client client;
  ExchangeWorld world;
  world.begin(client, kCall);
  core::Failure failure{EndReason::upstream_unreachable, "s is away"};
  SECTION("its reason, its text, and when to come again") {
    failure.retry_after_ms = 1500;
    failure.headers = {{"Retry-After", "2"}};
    world.upstream.call().fails(failure);
    CHECK(has(*client.answer, "s is away"));
    CHECK(has(*client.answer, R"("reason":"upstream_unreachable")"));
    CHECK(has(*client.answer, R"("retryAfterMs":1500)"));
    CHECK(client.headers == failure.headers);
    CHECK(client.status == 200);
  }
  SECTION("that its session is over") {
    failure.session_over = true;
    world.upstream.call().fails(failure);
    CHECK(client.status == 404);
  }
  SECTION("the code and the status that a policy names") {
    failure.code = -32042;
    failure.http_status = 451;
    world.upstream.call().fails(failure);
    CHECK(has(*client.answer, R"("code":-32042)"));
    CHECK(client.status == 451);
  }
  CHECK(client.answered().raw(Field::id) == R"("mine")");
  CHECK(world.cancelling_by.empty());
}

TEST_CASE("what goes nowhere reaches no server") {
  Client client;
  ExchangeWorld world;
  std::string request = kCall;
  EndReason reason{};
  int status = 200;
  SECTION("there is no such server") {
    world.serves = nullptr;
    reason = EndReason::upstream_unreachable;
  }
  SECTION("there is too much to do") {
    world.overload = core::Failure{EndReason::queue_full, "too much"};
    reason = EndReason::queue_full;
  }
  SECTION("its session is with a form of the server that a reload has replaced") {
    world.serves->retiring = true;
    reason = EndReason::cancelled_drain;
    status = 404;
  }
  SECTION("its upstream refuses it") {
    world.upstream.refuses = core::Failure{EndReason::circuit_open, "left alone"};
    reason = EndReason::circuit_open;
  }
  SECTION("its name is none") {
    request = R"({"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":{}}})";
    reason = EndReason::invalid_request;
  }
  world.begin(client, request);
  CHECK(world.upstream.calls.empty());
  CHECK(client.answered().raw(Field::id) == R"("mine")");
  CHECK(client.status == status);
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].reason == reason);
}

TEST_CASE("a session opens with the answer to initialize, or not at all") {
  Client client;
  ExchangeWorld world;
  SECTION("a result") {
    world.begin(client, kInitialize);
    CHECK(world.sessions.empty());
    world.upstream.call().answers(R"({"jsonrpc":"2.0","id":17,"result":{"protocolVersion":"2025-11-25"}})");
    REQUIRE(world.sessions.size() == 1);
    CHECK(has(world.sessions[0], "2025-11-25"));
    CHECK_FALSE(client.session_refused);
  }
  SECTION("an error") {
    world.begin(client, kInitialize);
    world.upstream.call().answers(R"({"jsonrpc":"2.0","id":17,"error":{"code":0,"message":"no"}})");
    CHECK(world.sessions == std::vector<std::string>{""});
    CHECK(client.session_refused);
  }
  SECTION("a failure") {
    world.begin(client, kInitialize);
    world.upstream.call().fails({EndReason::upstream_exited, "it has gone"});
    CHECK(world.sessions == std::vector<std::string>{""});
    CHECK(client.session_refused);
  }
  SECTION("a cancel by a message does not end it, its client's leaving does") {
    Exchange& exchange = world.begin(client, kInitialize);
    exchange.cancel(EndReason::cancelled_client, "never mind");
    CHECK_FALSE(exchange.ended());
    exchange.client_left(EndReason::cancelled_client);
    CHECK(world.sessions == std::vector<std::string>{""});
  }
  SECTION("it is another's already: that one's goes on") {
    world.opens = false;
    world.begin(client, kInitialize);
    CHECK(world.upstream.calls.empty());
    CHECK(client.answer);
    CHECK(world.sessions.empty());
    CHECK_FALSE(client.session_refused);
  }
}

TEST_CASE("a legacy call that becomes a task is told of with the server's token and the client's") {
  Client client, other;
  ExchangeWorld world;
  world.begin(client, kCall);
  world.upstream.call().answers(R"({"jsonrpc":"2.0","id":17,"result":{"task":{"taskId":"a"}}})");
  CHECK(world.tasks == std::vector<std::pair<std::string, std::string>>{{"17", R"("t")"}});
  world.begin(other, kCall, Era::modern);
  world.upstream.call().answers(R"({"jsonrpc":"2.0","id":18,"result":{"task":{"taskId":"a"}}})");
  CHECK(world.tasks.size() == 1);
}

TEST_CASE("a listen hears nothing before its acknowledgement, and all under the client's own id after it") {
  Client client;
  ExchangeWorld world;
  world.server.timeouts.acknowledge = milliseconds(30);
  Exchange& exchange = world.begin(client, kListen, Era::modern);
  exchange.on_call_phase(core::CallPhase::written);
  world.upstream.call().says(kChanged);
  CHECK(client.sent.empty());
  world.upstream.call().says(kAcknowledged);
  world.upstream.call().says(kChanged);
  REQUIRE(client.sent.size() == 2);
  for (const std::string& sent : client.sent)
    CHECK(parse(sent).raw(Field::meta_subscription_id) == R"("mine")");
  // It has no limit from then on, also while it is opened again.
  exchange.on_call_phase(core::CallPhase::starting);
  net::Timer later(world.loop);
  bool passed = false;
  later.start(milliseconds(80), [&] { passed = true; });
  REQUIRE(world.wait_for([&] { return passed; }));
  CHECK_FALSE(exchange.ended());
  // Opened again: what may have changed is told, and no second acknowledgement.
  world.upstream.call().says(kAcknowledged);
  REQUIRE(client.sent.size() == 3);
  CHECK(client.last().method() == "notifications/tools/list_changed");
  CHECK(client.last().raw(Field::meta_subscription_id) == R"("mine")");
}

TEST_CASE("a listen that is not acknowledged in time has failed") {
  Client client;
  ExchangeWorld world;
  world.server.timeouts.acknowledge = milliseconds(20);
  world.begin(client, kListen, Era::modern).on_call_phase(core::CallPhase::written);
  REQUIRE(world.wait_for([&] { return client.answer.has_value(); }));
  CHECK(has(*client.answer, "timeouts.acknowledge"));
  CHECK(world.upstream.call().cancelled);
}

TEST_CASE("a listen that stood ends in order with its result, for any reason") {
  Client client;
  ExchangeWorld world;
  Exchange& exchange = world.begin(client, kListen, Era::modern);
  world.upstream.call().says(kAcknowledged);
  SECTION("its server, by a cancel") {
    world.upstream.call().answers(
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":17}})");
  }
  SECTION("its server, by a result") {
    world.upstream.call().answers(R"({"jsonrpc":"2.0","id":17,"result":{"resultType":"complete"}})");
  }
  SECTION("its server's failure") {
    world.upstream.call().fails({EndReason::upstream_exited, "it has gone"});
  }
  SECTION("the gateway, that stops") {
    exchange.cancel(EndReason::cancelled_drain, "the gateway is stopping");
    CHECK(world.upstream.call().cancelled);
  }
  CHECK(client.answered().kind() == mcp::MessageKind::result);
  CHECK(client.answered().raw(Field::id) == R"("mine")");
  CHECK(world.retired == 1);
}

TEST_CASE("a question to a modern client parks its call, and the retry goes on with it") {
  Client client, again;
  ExchangeWorld world;
  Exchange& exchange = world.begin(client, kAsking, Era::modern);
  exchange.on_call_phase(core::CallPhase::written);
  ServersCall& call = world.upstream.call();
  call.says(kQuestion);
  CHECK_FALSE(client.answer);  // others may follow
  REQUIRE(world.wait_for([&] { return client.answer.has_value(); }));
  CHECK(client.answered().text(Field::result_type) == "input_required");
  CHECK(world.park.size() == 1);
  CHECK(call.handed == core::Handover::parked);
  CHECK(world.ends.at(0).reason == EndReason::input_required);
  CHECK_FALSE(call.cancelled);

  const std::string state(client.answered().raw(Field::result_request_state));
  world.begin(
      again,
      R"({"jsonrpc":"2.0","id":"next","method":"tools/call","params":{"name":"n","inputResponses":{"q":{"action":"accept"}},"requestState":)" +
          state + R"(,"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}})",
      Era::modern);
  CHECK(world.upstream.calls.size() == 1);
  CHECK(call.handed == core::Handover::in_flight);
  REQUIRE(call.replies.size() == 1);
  CHECK(parse(call.replies[0]).raw(Field::id) == R"("q")");
  CHECK(call.retries.size() == 1);
  CHECK(world.park.size() == 0);
  call.answers(kAnswer);
  CHECK(again.answered().raw(Field::id) == R"("next")");
  CHECK(world.ends.at(1).reason == EndReason::ok);
}

TEST_CASE("a retry after the server's answer is of a call that it had; a refused one has its reason") {
  Client client, again, twice;
  ExchangeWorld world;
  world.begin(client, kAsking, Era::modern).on_call_phase(core::CallPhase::written);
  ServersCall& call = world.upstream.call();
  call.says(kQuestion);
  REQUIRE(world.wait_for([&] { return client.answer.has_value(); }));
  call.answers(kAnswer);

  const std::string retry =
      R"({"jsonrpc":"2.0","id":"next","method":"tools/call","params":{"name":"n","inputResponses":{"q":{"action":"accept"}},"requestState":)" +
      std::string(client.answered().raw(Field::result_request_state)) +
      R"(,"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}})";
  const Exchange& answered = world.begin(again, retry, Era::modern);
  CHECK(again.answered().kind() == mcp::MessageKind::result);
  CHECK_FALSE(answered.waits());
  CHECK(answered.record().error_text().empty());

  const Exchange& replayed = world.begin(twice, retry, Era::modern);
  CHECK(twice.answered().raw(Field::error_code) == "-32602");
  CHECK(replayed.waits());  // its server has never had this one
  CHECK(has(*twice.answer, replayed.record().error_text()));
  CHECK_FALSE(replayed.record().error_text().empty());
}

TEST_CASE("a retry needs the claims that its server was told with the call") {
  Client client, again, third;
  ExchangeWorld world;
  const auto with_groups = [](std::vector<std::string> groups) {
    core::Caller caller;
    caller.principal = "p";
    caller.scopes = {"read"};
    if (!groups.empty()) caller.claims = {{"groups", std::move(groups)}};
    return std::make_shared<const core::Caller>(std::move(caller));
  };
  world.server.identity.meta = {{"com.example/groups",
                                 "\x01"
                                 "claim:groups\x02"}};
  world.begin(client, kAsking, Era::modern, {}, with_groups({"ops"})).on_call_phase(core::CallPhase::written);
  ServersCall& call = world.upstream.call();
  call.says(kQuestion);
  REQUIRE(world.wait_for([&] { return client.answer.has_value(); }));

  const std::string retry =
      R"({"jsonrpc":"2.0","id":"next","method":"tools/call","params":{"name":"n","inputResponses":{"q":{"action":"accept"}},"requestState":)" +
      std::string(client.answered().raw(Field::result_request_state)) +
      R"(,"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}})";
  SECTION("without them it is refused, and the call stays parked") {
    core::CallerPtr now;
    SECTION("another group") {
      now = with_groups({"dev"});
    }
    SECTION("none") {
      now = with_groups({});
    }
    SECTION("no caller") {}
    world.begin(again, retry, Era::modern, {}, now);
    CHECK(again.answered().raw(Field::error_code) == "-32602");
    CHECK(has(*again.answer, R"("reason":"foreign")"));
    CHECK(call.replies.empty());
    CHECK(world.park.size() == 1);
    world.begin(third, retry, Era::modern, {}, with_groups({"ops"}));
    CHECK(call.replies.size() == 1);
  }
  SECTION("more groups do no harm") {
    world.begin(again, retry, Era::modern, {}, with_groups({"dev", "ops"}));
    CHECK(call.replies.size() == 1);
  }
  SECTION("a server that is told nothing is not concerned") {
    world.server.identity = {};
    world.begin(again, retry, Era::modern, {}, with_groups({"dev"}));
    CHECK(call.replies.size() == 1);
  }
  CHECK(world.park.size() == 0);
  call.answers(kAnswer);
}

TEST_CASE("a question that is withdrawn before the client was asked is not sent") {
  Client client;
  ExchangeWorld world;
  world.server.timeouts.question_batch = milliseconds(20);
  Exchange& exchange = world.begin(client, kAsking, Era::modern);
  world.upstream.call().says(kQuestion);
  world.upstream.call().says(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}})");
  net::Timer later(world.loop);
  bool passed = false;
  later.start(milliseconds(60), [&] { passed = true; });
  REQUIRE(world.wait_for([&] { return passed; }));
  CHECK_FALSE(exchange.ended());
  CHECK(world.park.size() == 0);
}

TEST_CASE(
    "a client that cannot be asked is refused with the capability that it lacks, its server with an error") {
  Client client;
  ExchangeWorld world;
  world.begin(client, kCall, Era::modern);
  world.upstream.call().says(kQuestion);
  CHECK(has(*client.answer, R"("code":-32021)"));
  CHECK(client.status == 400);
  CHECK(world.upstream.call().cancelled == "the client lacks the capability elicitation");
  REQUIRE(world.upstream.call().replies.size() == 1);
  CHECK(parse(world.upstream.call().replies[0]).kind() == mcp::MessageKind::error);
}

TEST_CASE("what its end leaves open can still be taken back on its stream, before the answer") {
  Client client;
  ExchangeWorld world;
  bool sent = false;
  world.on_ending = [&](Exchange& exchange) {
    CHECK(exchange.ended());
    CHECK_FALSE(client.answer);
    sent = exchange.send(kLog);
    CHECK_FALSE(exchange.ask(kQuestion));
  };
  Exchange& exchange = world.begin(client, kCall);
  exchange.cancel(EndReason::cancelled_operator, "x");
  CHECK(sent);
  CHECK(client.sent == std::vector<std::string>{kLog});
}
