#include "proxy/upstream/shared/attribution.h"

#include <catch2/catch.hpp>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/proxy/core/asker.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::parse;
using std::chrono::milliseconds;
using Kind = Addressee::Kind;

namespace {

core::UpstreamRequest of(const std::string& principal, const std::string& session, const std::string& peer,
                         bool own_connection = true) {
  auto from = std::make_shared<core::ClientRequest>();
  from->peer = peer;
  from->own_connection = own_connection;
  core::UpstreamRequest request;
  request.scope.principal = principal;
  request.scope.session = session;
  request.from = from;
  return request;
}

struct Call final : TransportCall {
  Call(core::UpstreamRequest request, core::CallCallbacks& owner)
      : TransportCall(std::move(request), owner) {}
  ~Call() override { take_owner(); }
  void cancel(core::CancelCause) override { take_owner(); }
  void fail(const core::Failure& failure) override { pass_failure(failure); }
};

// The calls of one process or session. A server's messages name none of them.
struct World {
  core::Asker asker;
  net::Loop loop;
  config::Server server;
  std::list<Call> made;
  std::vector<PossibleCall> possible;
  Attribution attribution{loop, server};

  World() { server.timeouts.cancel_grace = milliseconds(60000); }
  Call& sent(const std::string& method, const std::string& principal = "ann",
             mcp::Era era = mcp::Era::modern) {
    core::UpstreamRequest request = of(principal, "", "", false);
    request.message =
        parse(R"({"jsonrpc":"2.0","id":1,"params":{"_meta":{"io.modelcontextprotocol/logLevel":"info"}},)"
              R"("method":")" +
              method + "\"}");
    request.method = mcp::method_of(method);
    request.client_era = era;
    request.tag = made.size() + 1;
    Call& call = made.emplace_back(std::move(request), asker);
    possible.push_back(PossibleCall::of(call));
    return call;
  }
  PossibleCall& fact(const Call& call) {
    for (PossibleCall& one : possible) {
      if (one.call == &call) return one;
    }
    FAIL("the call is over");
    return possible.front();
  }
  // It is over for its client, and the server may still work on it.
  void cancel(const Call& call) { fact(call).call = nullptr; }
  void forget(const Call& call) {
    std::erase_if(possible, [&](const PossibleCall& one) { return one.call == &call; });
  }
  void over(const Call& call, Attribution::End end = Attribution::End::over) {
    attribution.note_over(fact(call), end);
    forget(call);
  }
  PossibleCalls calls(const mcp::Message* message = nullptr) const {
    PossibleCalls all(message);
    for (const PossibleCall& one : possible)
      all.add(one);
    return all;
  }
  Addressee find(const mcp::Message& message, const MessageOrigin& from) const {
    return attribution.of(message, from, calls(&message));
  }
  Addressee notice(const std::string& method, const MessageOrigin& from) const {
    return find(parse(R"({"jsonrpc":"2.0","params":{"level":"info"},"method":")" + method + "\"}"), from);
  }
  Addressee question(const std::string& method, const MessageOrigin& from) const {
    return find(parse(R"({"jsonrpc":"2.0","id":7,"method":")" + method + "\"}"), from);
  }
};

const MessageOrigin kPipe{.pipe = true}, kAside{};
const MessageOrigin kPipeInTurns{.pipe = true, .exclusive = true}, kAsideInTurns{.exclusive = true};
const std::string kLine = "notifications/message", kOther = "notifications/other";
const std::string kElicit = "elicitation/create", kRoots = "roots/list";

bool same(const core::UpstreamRequest& a, const core::UpstreamRequest& b) {
  return CallerId(a).is_same(CallerId(b));
}

}  // namespace

TEST_CASE("callers are one by principal, else by session, else by connection (behaviour.md 14)") {
  const std::string nobody(core::kAnonymous);
  CHECK(same(of("ann", "", "1"), of("ann", "", "2")));
  CHECK(same(of("ann", "s1", "1"), of("ann", "s2", "2")));
  CHECK_FALSE(same(of("ann", "", "1"), of("ben", "", "1")));
  CHECK_FALSE(same(of("ann", "", "1"), of(nobody, "", "1")));
  CHECK(same(of(nobody, "s1", "1"), of(nobody, "s1", "2")));
  CHECK_FALSE(same(of(nobody, "s1", "1"), of(nobody, "s2", "1")));
  CHECK(same(of(nobody, "", "1"), of("", "", "1")));
  CHECK_FALSE(same(of("", "", "1"), of("", "", "2")));
  CHECK_FALSE(same(of("", "", "1", false), of("", "", "1", false)));
  core::UpstreamRequest kept = of("", "", "1");
  kept.scope.bridged_session = "s1";
  CHECK(same(kept, of("", "s1", "2")));
}

TEST_CASE("lineward stdio has one caller") {
  core::UpstreamRequest one, other;
  auto from = std::make_shared<core::ClientRequest>();
  from->wire = mcp::Wire::stdio;
  one.from = other.from = from;
  other.scope.session = "s";
  CHECK(same(one, other));
}

TEST_CASE("callers whose calls ended may be meant until their time is over") {
  const core::UpstreamRequest a = of("ann", "", ""), b = of("ben", "", ""), c = of("cat", "", "");
  LateCallers late;
  CHECK(late.none_but(CallerId(a), milliseconds(0)));
  late.ended(CallerId(a), milliseconds(50), milliseconds(0));
  CHECK(late.none_but(CallerId(a), milliseconds(10)));
  CHECK_FALSE(late.none_but(CallerId(b), milliseconds(10)));
  late.ended(CallerId(b), milliseconds(70), milliseconds(20));
  CHECK_FALSE(late.none_but(CallerId(a), milliseconds(30)));
  CHECK_FALSE(late.none_but(CallerId(b), milliseconds(30)));
  CHECK(late.none_but(CallerId(b), milliseconds(50)));
  CHECK_FALSE(late.none_but(CallerId(c), milliseconds(69)));
  CHECK(late.any(milliseconds(69)));
  CHECK_FALSE(late.any(milliseconds(70)));
  CHECK(late.none_but(CallerId(c), milliseconds(70)));
  late.ended(CallerId(a), milliseconds(150), milliseconds(100));
  late.ended(CallerId(a), milliseconds(160), milliseconds(110));
  CHECK(late.none_but(CallerId(a), milliseconds(120)));
}

TEST_CASE("the caller that was kept outlives its request") {
  LateCallers late;
  {
    const core::UpstreamRequest gone = of(std::string(64, 'a'), "", "");
    late.ended(CallerId(gone), milliseconds(50), milliseconds(0));
  }
  CHECK(late.none_but(CallerId(of(std::string(64, 'a'), "", "")), milliseconds(1)));
}

TEST_CASE("a log message is for the newest call if all possible calls have the same caller") {
  World world;
  for (const MessageOrigin& from : {kPipe, kAside})
    CHECK(world.notice(kLine, from).kind == Kind::none);
  Call& first = world.sent("tools/call");
  Call& second = world.sent("completion/complete");
  for (const MessageOrigin& from : {kPipe, kAside}) {
    CHECK(world.notice(kLine, from).kind == Kind::call);
    CHECK(world.notice(kLine, from).call == &second);
  }
  SECTION("the newest was cancelled") {
    world.cancel(second);
    CHECK(world.notice(kLine, kPipe).call == &first);
  }
  SECTION("the newest is Lineward's own") {
    world.fact(second).of_gateway = true;
    CHECK(world.notice(kLine, kAside).call == &first);
  }
  SECTION("a call of another caller is in flight, or was cancelled") {
    Call& other = world.sent("tools/list", "ben");
    CHECK(world.notice(kLine, kPipe).kind == Kind::none);
    world.cancel(other);
    CHECK(world.notice(kLine, kAside).kind == Kind::none);
  }
  SECTION("a call of another caller was answered") {
    world.over(world.sent("tools/list", "ben"));
    CHECK(world.notice(kLine, kPipe).kind == Kind::none);
  }
  SECTION("a call of the same caller was answered") {
    world.over(world.sent("tools/list"));
    CHECK(world.notice(kLine, kPipe).call == &second);
  }
  SECTION("the message is below the level that the call requested") {
    const auto line =
        parse(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug"}})");
    CHECK(world.find(line, kPipe).kind == Kind::unwanted);
  }
  SECTION("it arrived on the stream of a call") {
    world.sent("tools/list", "ben");
    CHECK(world.notice(kLine, {.call = &first}).call == &first);
  }
}

TEST_CASE("a caller that cannot be told apart gets the log message of its only call") {
  World world;
  Call& only = world.sent("tools/call", "");
  CHECK(world.notice(kLine, kPipe).call == &only);
  world.sent("tools/call", "");
  CHECK(world.notice(kLine, kPipe).kind == Kind::none);
}

TEST_CASE("a notification of a modern server is for the only call, if that requested log messages") {
  World world;
  const auto line = parse(R"({"jsonrpc":"2.0","method":"notifications/message"})");
  CHECK(Attribution::of_modern(line, world.calls()) == nullptr);
  Call& only = world.sent("tools/call");
  CHECK(Attribution::of_modern(line, world.calls()) == &only);
  CHECK(Attribution::of_modern(parse(R"({"jsonrpc":"2.0","method":"notifications/other"})"), world.calls()) ==
        nullptr);
  world.over(world.sent("tools/call"));  // such a server sends nothing about it any more
  CHECK(Attribution::of_modern(line, world.calls()) == &only);
  world.sent("tools/call");
  CHECK(Attribution::of_modern(line, world.calls()) == nullptr);
}

TEST_CASE("a client's session gets all messages of its own server") {
  World world;
  const MessageOrigin pipe{.pipe = true, .scoped = true}, aside{.scoped = true};
  CHECK(world.question(kElicit, pipe).kind == Kind::session);
  CHECK(world.question(kElicit, pipe).tag() == std::nullopt);
  Call& call = world.sent("tools/call");
  for (const std::string& method : {kLine, kOther}) {
    CHECK(world.notice(method, pipe).kind == Kind::session);
    CHECK(world.notice(method, pipe).tag() == call.request.tag);
    CHECK(world.notice(method, aside).tag() == std::nullopt);
  }
  CHECK(world.notice("notifications/progress", pipe).tag() == std::nullopt);
  CHECK(world.question(kElicit, pipe).tag() == call.request.tag);
  CHECK(world.question(kElicit, aside).tag() == std::nullopt);
  CHECK(world.question(kElicit, {.call = &call, .scoped = true}).tag() == call.request.tag);
  SECTION("another call is possible: in flight, or cancelled until its id is forgotten") {
    Call& other = world.sent("tools/list");
    CHECK(world.notice(kOther, pipe).tag() == std::nullopt);
    CHECK(world.notice(kLine, pipe).tag() == other.request.tag);
    world.cancel(other);
    CHECK(world.question(kElicit, pipe).tag() == std::nullopt);
    CHECK(world.calls().only() == nullptr);
  }
  SECTION("another call was answered") {
    world.over(world.sent("tools/list"));
    CHECK(world.question(kElicit, pipe).tag() == std::nullopt);
    CHECK(world.calls().only() == &call);
  }
  SECTION("another call was answered, and there is no grace") {
    world.server.timeouts.cancel_grace = milliseconds(0);
    world.over(world.sent("tools/list"));
    CHECK(world.question(kElicit, pipe).tag() == call.request.tag);
  }
  SECTION("a call of Lineward's own was answered") {
    Call& own = world.sent("tools/list");
    world.fact(own).of_gateway = true;
    world.over(own);
    CHECK(world.question(kElicit, pipe).tag() == call.request.tag);
  }
}

TEST_CASE("a bridged session gets all but the log messages of its calls, and progress") {
  World world;
  const MessageOrigin there{.pipe = true, .bridged = true, .scoped = true};
  const MessageOrigin gone{.pipe = true, .bridged = true}, aside{.bridged = true, .scoped = true};
  CHECK(world.notice(kLine, there).kind == Kind::session);
  CHECK(world.question(kElicit, gone).kind == Kind::refused);
  CHECK(world.question(kRoots, gone).kind == Kind::refused);
  Call& call = world.sent("tools/call");
  for (const MessageOrigin& from : {there, gone, aside}) {
    CHECK(world.notice(kLine, from).kind == Kind::call);
    CHECK(world.notice(kLine, from).call == &call);
    CHECK(world.notice("notifications/progress", from).kind == Kind::none);
  }
  CHECK(world.notice(kOther, gone).kind == Kind::none);
  CHECK(world.notice(kOther, there).tag() == call.request.tag);
  CHECK(world.notice(kOther, aside).tag() == call.request.tag);
  CHECK(world.question(kElicit, there).tag() == call.request.tag);
  CHECK(world.question(kElicit, aside).kind == Kind::session);
  CHECK(world.question(kElicit, aside).tag() == std::nullopt);
}

TEST_CASE("a request is for the only call that allows requests") {
  World world;
  Call& only = world.sent("tools/call");
  for (const MessageOrigin& from : {kPipe, kAside, kPipeInTurns, kAsideInTurns}) {
    CHECK(world.question(kElicit, from).kind == Kind::call);
    CHECK(world.question(kElicit, from).call == &only);
    CHECK(world.question("sampling/createMessage", from).call == &only);
    CHECK(world.question("tools/list", from).kind == Kind::refused);
    // The client of a shared process cannot answer it.
    CHECK(world.question(kRoots, from).kind == (from.exclusive ? Kind::call : Kind::roots));
  }
  SECTION("of a legacy client in a shared process") {
    only.request.client_era = mcp::Era::legacy;
    CHECK(world.question(kElicit, kPipe).kind == Kind::refused);
    CHECK(world.question(kRoots, kPipeInTurns).kind == Kind::refused);
  }
  SECTION("beside another client's call, in flight or cancelled") {
    Call& other = world.sent("completion/complete");
    for (const MessageOrigin& from : {kPipe, kAside})
      CHECK(world.question(kElicit, from).kind == Kind::refused);
    world.cancel(other);
    CHECK(world.question(kElicit, kPipe).kind == Kind::refused);
  }
  SECTION("beside a call of Lineward's own") {
    world.fact(world.sent("tools/list")).of_gateway = true;
    CHECK(world.question(kElicit, kPipe).call == &only);
  }
  SECTION("beside another such call, in flight or cancelled") {
    Call& other = world.sent("prompts/get");
    for (const MessageOrigin& from : {kPipeInTurns, kAsideInTurns}) {
      CHECK(world.question(kElicit, from).kind == Kind::refused);
      CHECK(world.question(kRoots, from).kind == Kind::refused);
    }
    world.cancel(other);
    CHECK(world.question(kElicit, kPipeInTurns).kind == Kind::refused);
    CHECK(world.question(kRoots, kPipeInTurns).kind == Kind::refused);
    CHECK(world.question(kElicit, {.call = &only}).call == &only);
  }
  SECTION("the only one was cancelled") {
    world.cancel(only);
    CHECK(world.question(kElicit, kPipeInTurns).kind == Kind::refused);
    CHECK(world.question(kRoots, kPipeInTurns).kind == Kind::refused);
    CHECK(world.question(kRoots, kPipe).kind == Kind::roots);
  }
  SECTION("on the stream of a call that allows none") {
    Call& other = world.sent("completion/complete");
    CHECK(world.question(kElicit, {.call = &other}).kind == Kind::refused);
  }
  SECTION("a call without requests was cancelled, and is in no table any more") {
    world.over(world.sent("tools/list"), Attribution::End::cancelled);
    CHECK(world.question(kElicit, kAside).kind == Kind::refused);
  }
}

TEST_CASE("a request after a call that allowed requests is not another caller's") {
  World world;
  world.over(world.sent("tools/call", "ben"));
  SECTION("no call is in flight: the server requests late") {
    CHECK(world.question(kElicit, kPipeInTurns).asks_late);
    CHECK(world.question(kElicit, kAsideInTurns).asks_late);
    CHECK(world.question("tools/list", kPipeInTurns).asks_late);
    CHECK_FALSE(world.question("tools/list", kAsideInTurns).asks_late);
    CHECK_FALSE(world.question(kElicit, kPipe).asks_late);
    CHECK_FALSE(world.question(kElicit, {.exclusive = true, .apart = true}).asks_late);
    CHECK(world.question(kRoots, {.exclusive = true, .apart = true}).kind == Kind::refused);
    CHECK_FALSE(world.question(kRoots, kPipeInTurns).asks_late);
    CHECK(world.question(kRoots, kPipeInTurns).kind == Kind::roots);
  }
  SECTION("a call of another caller is in flight") {
    Call& call = world.sent("tools/call");
    for (const MessageOrigin& from : {kPipe, kAside, kPipeInTurns, kAsideInTurns}) {
      CHECK(world.question(kElicit, from).kind == Kind::refused);
      CHECK_FALSE(world.question(kElicit, from).asks_late);
    }
    CHECK(world.question(kElicit, {.call = &call, .exclusive = true}).call == &call);
  }
  SECTION("a call of the same caller is in flight") {
    Call& call = world.sent("tools/call", "ben");
    for (const MessageOrigin& from : {kPipeInTurns, kAsideInTurns})
      CHECK(world.question(kElicit, from).call == &call);
    for (const MessageOrigin& from : {kPipe, kAside})
      CHECK(world.question(kElicit, from).kind == Kind::refused);
  }
}

TEST_CASE("without a grace the next call's requests are its own") {
  World world;
  world.server.timeouts.cancel_grace = milliseconds(0);
  world.over(world.sent("tools/call", "ben"));
  Call& second = world.sent("tools/call");
  CHECK(world.question(kElicit, kPipe).call == &second);
}

TEST_CASE("the withdrawal of a question belongs to the call of the asked client, whatever else is there") {
  World world;
  Call& one = world.sent("tools/call");
  Call& two = world.sent("tools/call", "ben");
  auto cancelled = [](const std::string& id) {
    return parse(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id + "}}");
  };
  CHECK(world.find(cancelled("1"), kPipe).kind == Kind::none);
  one.message(parse(R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})"));
  two.message(parse(R"({"jsonrpc":"2.0","id":"1","method":"roots/list"})"));
  CHECK(world.find(cancelled("1.0"), kPipe).call == &one);
  CHECK(world.find(cancelled(R"("1")"), kAside).call == &two);
  one.message(cancelled("1"));
  CHECK(world.find(cancelled("1"), kPipe).kind == Kind::none);
  world.cancel(two);
  CHECK(world.find(cancelled(R"("1")"), kPipe).kind == Kind::none);
}

TEST_CASE(
    "the completion of an elicitation belongs to the call of the asked legacy client, and to no modern "
    "client's") {
  World world;
  Call& legacy = world.sent("tools/call");
  Call& modern = world.sent("tools/call");
  auto from = std::make_shared<core::ClientRequest>();
  from->era = mcp::Era::legacy;
  legacy.request.from = from;
  auto question = [](const std::string& name) {
    return parse(R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"elicitationId":")" +
                 name + "\"}}");
  };
  auto completed = [&](const std::string& name) {
    const auto message = parse(
        R"({"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":")" +
        name + "\"}}");
    return world.find(message, kPipe).call;
  };
  CHECK(completed("a") == nullptr);
  legacy.message(question("a"));
  modern.message(question("b"));
  CHECK(completed("a") == &legacy);
  CHECK(completed("b") == nullptr);
  CHECK(completed("") == nullptr);
  // Bounded: the first 64 of a call, with ids that are not too long.
  legacy.message(question(std::string(257, 'x')));
  CHECK(completed(std::string(257, 'x')) == nullptr);
  for (int i = 1; i < 64; ++i)
    legacy.message(question(std::to_string(i)));
  legacy.message(question("too many"));
  CHECK(completed("63") == &legacy);
  CHECK(completed("too many") == nullptr);
}

TEST_CASE("after a call that allowed requests the server is unsettled until it has answered a ping") {
  World world;
  const Attribution& attribution = world.attribution;
  world.over(world.sent("tools/list"));
  CHECK_FALSE(attribution.is_unsettled());
  CHECK(attribution.asked_until() == milliseconds(0));
  world.over(world.sent("tools/call"));
  CHECK(attribution.is_unsettled());
  CHECK(attribution.asked_until() == world.loop.now() + milliseconds(60000));
  world.attribution.settled();
  CHECK_FALSE(attribution.is_unsettled());
  // Its messages about the answered call may still come.
  CHECK(attribution.asked_lately());
  world.server.timeouts.cancel_grace = milliseconds(0);
  world.over(world.sent("tools/call"));
  CHECK_FALSE(attribution.is_unsettled());
}
