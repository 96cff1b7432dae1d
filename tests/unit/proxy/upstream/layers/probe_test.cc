#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "protocol/mcp/probe.h"
#include "proxy/upstream/layers/probe_book.h"
#include "proxy/upstream/layers/probe_upstream.h"
#include "unit/proxy/upstream/layers/layers_world.h"

using namespace lineward;
using namespace lineward::upstream;
using State = ProbeOutcome::State;
using std::chrono::nanoseconds;
using std::chrono::seconds;

namespace {

constexpr const char* kNonce = "nonce-of-sixteen-1";

ProbeBook::Caller caller(const std::string& name) {
  return {"principal " + name, "principal " + name};
}

std::string nonce(int number) {
  return "nonce-of-sixteen-" + std::to_string(number);
}

core::UpstreamRequest probe(const std::string& params, mcp::Era era = mcp::Era::modern) {
  core::UpstreamRequest out;
  out.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"lineward/probe","params":)" + params + "}");
  out.client_era = era;
  out.scope.principal = "p";
  return out;
}

struct World {
  ~World() { loop.close_all(); }
  net::Loop loop;
  Below below;
  config::Listen listen;
  ProbeBook book;
  ProbeUpstream upstream{loop, std::make_unique<UpstreamBelow>(below), listen, book};
  Caller asker;
};

}  // namespace

TEST_CASE("what a probe may ask for") {
  const auto fault = [](const std::string& params) {
    const auto read = mcp::read_probe(
        parse(R"({"jsonrpc":"2.0","id":1,"method":"lineward/probe","params":)" + params + "}"));
    return read ? std::string() : read.error().text;
  };
  const std::string name = std::string(R"("nonce":")") + kNonce + '"';
  const std::string token = R"("_meta":{"progressToken":1})";
  CHECK(fault("{}").empty());
  CHECK(fault("null").empty());
  CHECK(fault(R"({"padding":"xxx"})").empty());
  CHECK(fault("{" + name + "," + token + R"(,"events":100,"everyMs":1000,"silentMs":500000})").empty());
  CHECK_FALSE(fault("{" + name + "," + token + R"(,"events":100,"everyMs":1000,"silentMs":500001})").empty());
  CHECK_FALSE(fault("{" + name + R"(,"silentMs":1.5})").empty());
  CHECK_FALSE(fault("{" + name + R"(,"silentMs":"1"})").empty());
  CHECK_FALSE(fault("{" + name + R"(,"events":1})").empty());
  CHECK_FALSE(fault(R"({"silentMs":1})").empty());
  CHECK_FALSE(fault(R"({"outcome":"a b c d e f g h i j"})").empty());
  CHECK_FALSE(fault(R"({"outcome":"\u0061aaaaaaaaaaaaaaaaaaa"})").empty());
  CHECK_FALSE(fault(R"({"outcome":")" + std::string(65, 'a') + "\"}").empty());
  CHECK(fault(R"({"outcome":")" + std::string(64, 'a') + "\"}").empty());
  CHECK_FALSE(fault(R"({"outcome":1})").empty());
}

TEST_CASE("the book has so many streams, and of one caller") {
  ProbeBook book;
  for (size_t i = 0; i < ProbeBook::kStreamsOfCaller; ++i)
    CHECK(book.begin(caller("a"), nonce(static_cast<int>(i)), seconds(1)));
  CHECK_FALSE(book.begin(caller("a"), nonce(99), seconds(1)));
  size_t others = 0;
  for (int i = 100; book.begin(caller("b" + std::to_string(i)), nonce(i), seconds(1)); ++i)
    ++others;
  CHECK(others == ProbeBook::kStreams - ProbeBook::kStreamsOfCaller);
  book.end(caller("a"), nonce(0), State::left, mcp::EndReason::cancelled_client, seconds(2));
  CHECK(book.begin(caller("a"), nonce(99), seconds(2)));
}

TEST_CASE("an outcome is remembered for a while, for its caller alone") {
  ProbeBook book;
  REQUIRE(book.begin(caller("a"), kNonce, seconds(1)));
  CHECK_FALSE(book.begin(caller("a"), kNonce, seconds(2)));
  CHECK(book.begin(caller("b"), kNonce, seconds(2)));
  book.end(caller("a"), kNonce, State::left, mcp::EndReason::cancelled_client, seconds(3));
  book.end(caller("a"), kNonce, State::completed, mcp::EndReason::ok, seconds(4));
  auto found = book.find("principal a", kNonce, seconds(5));
  REQUIRE(found);
  CHECK(found->state == State::left);
  CHECK(found->began == seconds(1));
  CHECK(found->ended == seconds(3));
  CHECK(found->arrivals == 2);
  CHECK(book.find("principal b", kNonce, seconds(5))->state == State::running);
  CHECK_FALSE(book.find("principal c", kNonce, seconds(5)));
  CHECK(book.find("principal a", kNonce, seconds(3) + ProbeBook::kLife));
  CHECK_FALSE(book.find("principal a", kNonce, seconds(4) + ProbeBook::kLife));
  CHECK(book.find("principal b", kNonce, seconds(4) + ProbeBook::kLife));
}

TEST_CASE("a caller that opens many streams takes no other's outcome") {
  ProbeBook book;
  REQUIRE(book.begin(caller("a"), kNonce, seconds(1)));
  book.end(caller("a"), kNonce, State::completed, mcp::EndReason::ok, seconds(1));
  for (int i = 0; i < 200; ++i) {
    REQUIRE(book.begin(caller("b"), nonce(i), seconds(2)));
    book.end(caller("b"), nonce(i), State::completed, mcp::EndReason::ok, seconds(2));
  }
  CHECK(book.find("principal a", kNonce, seconds(3)));
  CHECK(book.find("principal b", nonce(199), seconds(3)));
  CHECK_FALSE(book.find("principal b", nonce(100), seconds(3)));
}

TEST_CASE("a probe is never forwarded") {
  World world;
  auto off = [&](core::UpstreamRequest request) {
    auto call = world.upstream.start(std::move(request), world.asker);
    REQUIRE_FALSE(call);
    return call.error();
  };
  world.listen.probe = false;
  CHECK(off(probe("{}")).code == -32601);
  CHECK(off(probe("{}")).http_status == 404);
  world.listen.probe = true;
  CHECK(off(probe("{}", mcp::Era::legacy)).code == -32601);
  CHECK(off(probe(R"({"silentMs":1})")).reason == mcp::EndReason::invalid_request);
  CHECK(world.below.calls.empty());
}

TEST_CASE("a stream that is given up has been left, or was ended") {
  World world;
  const auto state = [&](core::CancelCause why) {
    ProbeBook& book = world.book;
    const std::string name = nonce(static_cast<int>(why.reason));
    auto call = world.upstream.start(probe(R"({"nonce":")" + name + R"(","silentMs":1000})"), world.asker);
    REQUIRE(call);
    CHECK(book.find("p", name, nanoseconds(1))->state == State::running);
    (*call)->cancel(why);
    CHECK_FALSE((*call)->live());
    return book.find("p", name, nanoseconds(1))->state;
  };
  CHECK(state({"", mcp::EndReason::cancelled_client}) == State::left);
  CHECK(state({"", mcp::EndReason::timeout_request}) == State::ended);
  world.loop.close_deferred();
  CHECK(world.asker.heard_nothing());
  CHECK(world.below.calls.empty());
}

TEST_CASE("what is no probe goes on") {
  World world;
  core::UpstreamRequest request;
  request.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"lineward/probes"})");
  auto call = world.upstream.start(std::move(request), world.asker);
  REQUIRE(call);
  CHECK(world.below.calls.size() == 1);
  (*call)->cancel("over");
}
