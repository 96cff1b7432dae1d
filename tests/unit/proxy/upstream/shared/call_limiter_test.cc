#include "proxy/upstream/shared/call_limiter.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace lineward;
using namespace lineward::upstream;

namespace {

core::UpstreamRequest request_of(const AccountPtr& account) {
  core::UpstreamRequest request;
  request.method = mcp::Method::tools_call;
  auto from = std::make_shared<core::ClientRequest>();
  from->account = account;
  request.from = std::move(from);
  return request;
}

}  // namespace

TEST_CASE("calls that wait in front of a transport have places among its calls, until they give them up") {
  config::Server server;
  server.name = "s";
  server.limits.max_in_flight = 2;
  server.limits.max_queue = 1;
  CallLimiter places(server);
  const core::UpstreamRequest request = request_of(nullptr);
  CHECK_FALSE(places.refusal(request, 2));
  CHECK(places.refusal(request, 3));
  auto first = places.wait_in_front(request, 1);
  REQUIRE(first);
  auto second = places.wait_in_front(request, 1);
  REQUIRE(second);
  auto third = places.wait_in_front(request, 1);
  REQUIRE_FALSE(third);
  CHECK(third.error().reason == mcp::EndReason::queue_full);
  CHECK(third.error().text == "1 calls wait for s already (limits.maxQueue)");
  CHECK(places.refusal(request, 1));
  first->reset();
  CHECK_FALSE(places.refusal(request, 1));
  CHECK(places.refusal(request, 2));
  second->reset();
  CHECK_FALSE(places.refusal(request, 2));
}

TEST_CASE("a call that waits in front of a transport counts in its caller's share") {
  struct Half {
    Half() { Account::limit_shares(50); }
    ~Half() { Account::limit_shares(100); }
  } half;
  config::Server server;
  server.name = "s";
  server.limits.max_in_flight = 2;
  server.limits.max_queue = 2;
  CallLimiter places(server);
  const core::UpstreamRequest greedy = request_of(Account::of("principal a")),
                              other = request_of(Account::of("principal b"));
  auto one = places.wait_in_front(greedy, 0), two = places.wait_in_front(greedy, 0);
  REQUIRE(one);
  REQUIRE(two);
  auto refused = places.wait_in_front(greedy, 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("listen.maxPrincipalPercent") != std::string::npos);
  CHECK_FALSE(places.refusal(other, 0));
  one->reset();
  CHECK_FALSE(places.refusal(greedy, 0));
}

TEST_CASE("at a server that all workers serve, their calls count together, and so does each caller's share") {
  struct Half {
    Half() { Account::limit_shares(50); }
    ~Half() { Account::limit_shares(100); }
  } half;
  config::Server server;
  server.name = "s";
  server.limits.max_in_flight = 2;
  server.limits.max_queue = 2;
  const auto version = std::make_shared<SharedVersion>();
  CallLimiter here(server, version), there(server, version), elsewhere(server);
  const core::UpstreamRequest greedy = request_of(Account::of("principal a")),
                              session = request_of(Account::within(Account::of("principal a"))),
                              other = request_of(Account::of("principal b")),
                              third = request_of(Account::of("principal c"));
  auto one = here.wait_in_front(greedy, 0), two = there.wait_in_front(session, 0);
  REQUIRE(one);
  REQUIRE(two);
  for (CallLimiter* worker : {&here, &there}) {
    auto refused = worker->wait_in_front(greedy, 0);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text.find("listen.maxPrincipalPercent") != std::string::npos);
  }
  CHECK_FALSE(elsewhere.refusal(greedy, 0));
  auto three = here.wait_in_front(other, 0), four = there.wait_in_front(other, 0);
  REQUIRE(four);
  auto full = here.refusal(third, 0);
  REQUIRE(full);
  CHECK(full->text == "2 calls wait for s already (limits.maxQueue)");
  two->reset();
  CHECK_FALSE(here.refusal(third, 0));
  CHECK_FALSE(here.refusal(greedy, 0));
}

TEST_CASE("callers take turns, and the calls of one in their order") {
  CallerShares shares;
  const AccountPtr a = Account::of("principal a"), b = Account::of("principal b");
  struct Call {
    CallTurn turn;
    std::string name;
  };
  std::deque<Call> calls;
  std::deque<Call*> queue;
  std::vector<std::unique_ptr<CallerShares::Place>> places;
  auto comes = [&](const AccountPtr& whose, const std::string& name) {
    places.push_back(std::make_unique<CallerShares::Place>());
    places.back()->take(shares, whose);
    Call& call = calls.emplace_back();
    call.name = name;
    call.turn.take(shares, whose);
    join_by_turn(queue, call);
  };
  auto served = [&](size_t count) {
    std::string names;
    for (; count > 0; --count) {
      names += queue.front()->name + " ";
      queue.front()->turn.served();
      queue.pop_front();
    }
    return names;
  };
  for (int i = 0; i < 6; ++i)
    comes(a, fmt::format("a{}", i));
  CHECK(served(2) == "a0 a1 ");
  comes(b, "b0");
  comes(b, "b1");
  comes(nullptr, "n0");
  CHECK(served(7) == "a2 b0 n0 a3 b1 a4 a5 ");
  // A caller that returns after a while has no turns to make up for, and lost none.
  comes(b, "b2");
  comes(a, "a6");
  CHECK(served(2) == "b2 a6 ");
}
