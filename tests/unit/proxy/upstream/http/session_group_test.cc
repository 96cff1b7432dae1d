#include "proxy/upstream/http/session_group.h"

#include <catch2/catch.hpp>
#include <deque>
#include <string>
#include <utility>

#include "proxy/upstream/http/http_call_table.h"
#include "proxy/upstream/http/http_era_prober.h"
#include "proxy/upstream/http/http_health.h"
#include "proxy/upstream/http/question_slots.h"
#include "proxy/upstream/http/session_groups.h"
#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/shared/server_era.h"

using namespace lineward;
using namespace lineward::upstream;

namespace {

core::Scope session_of(std::string session, std::string principal) {
  core::Scope scope;
  scope.session = std::move(session);
  scope.principal = std::move(principal);
  return scope;
}

class NoOwner final : public core::CallCallbacks {
 public:
  void on_call_phase(core::CallPhase) override {}
  void on_call_message(mcp::Message&&) override {}
  void on_call_failed(const core::Failure&) override {}
};

struct ClosedLoop : net::Loop {
  ~ClosedLoop() { close_all(); }
};

// The parts of an upstream without a server, for a call that is never sent.
class NoServer final : public ServerEraCallbacks {
 public:
  NoServer(net::Loop& its_loop, const config::Server& its_server) : loop(its_loop), server(its_server) {}
  void on_era_known(TransportCall&) override {}

  net::Loop& loop;
  const config::Server& server;
  const SharedPart alone;
  OriginSet origins{loop, server, alone};
  const HttpParts parts{loop,    server, alone, origins, sub_requests, failures, health, ids,
                        planner, groups, slots, era,     calls,        pump,     {}};
  HttpSubRequests sub_requests{origins, 1024};
  HttpFailures failures{server};
  HttpHealth health{loop, server, nullptr};
  RequestIds ids;
  SessionPlanner planner{server};
  SessionGroups groups{parts};
  QuestionSlots slots{parts};
  HttpEraProber prober{parts, {}};
  ServerEra era{loop, server, prober, *this};
  HttpCallTable calls{parts};
  net::Deferred pump{loop, [](void*) {}, this};
};

}  // namespace

TEST_CASE("legacy clients share a session as isolation says") {
  config::Server server;
  SessionPlanner planner(server);
  core::Scope ada = session_of("s1", "ada");
  core::Scope ada_again = session_of("s2", "ada");
  core::Scope bob = session_of("s3", "bob");

  SECTION("each has its own, which it initialises itself") {
    for (auto isolation : {config::Isolation::automatic, config::Isolation::session}) {
      server.isolation = isolation;
      CHECK(planner.plan(ada).key != planner.plan(ada_again).key);
      CHECK(planner.plan(ada).initialize_params.empty());
    }
  }
  SECTION("those of a principal share one, which Lineward initialises") {
    server.isolation = config::Isolation::principal;
    CHECK(planner.plan(ada).key == planner.plan(ada_again).key);
    CHECK(planner.plan(ada).key != planner.plan(bob).key);
    CHECK_FALSE(planner.plan(ada).initialize_params.empty());
  }
  SECTION("each call has its own, which ends with it") {
    server.isolation = config::Isolation::call;
    CHECK(planner.plan(ada).key != planner.plan(ada).key);
    CHECK(planner.plan(ada).per_call);
  }
}

TEST_CASE("a session that is lost again and again is opened after pauses, until its listens are notified") {
  net::Loop loop;
  config::Server server;
  ReopenPause pause(loop, server);
  auto over = [] {};

  CHECK_FALSE(pause.must_wait(over));
  pause.opened();
  CHECK(pause.lost(ReopenPause::First::at_once));
  CHECK_FALSE(pause.must_wait(over));  // the first may come at once
  for (int loss = 2; loss <= 6; ++loss) {
    CAPTURE(loss);
    CHECK(pause.lost(ReopenPause::First::at_once));
    CHECK(pause.must_wait(over));
  }
  CHECK_FALSE(pause.lost(ReopenPause::First::at_once));
}

TEST_CASE("a session that did not even stand is opened again after a pause") {
  net::Loop loop;
  config::Server server;
  server.restart.backoff = std::chrono::milliseconds(20);
  ReopenPause pause(loop, server);
  bool told = false;
  CHECK(pause.lost(ReopenPause::First::after_a_pause));
  CHECK(pause.must_wait([&] {
    told = true;
    loop.stop();
  }));
  loop.run();
  CHECK(told);
  CHECK_FALSE(pause.must_wait([] {}));
}

TEST_CASE("calls wait in the order in which they came, and one that is tried again before all others") {
  struct Waits {
    int number;
    int turn;
  };
  Waits first{1, 1}, second{2, 2}, third{3, 3};
  CallQueue<Waits> queue;
  CHECK(queue.empty());
  CHECK(queue.first() == nullptr);
  queue.join(first);
  queue.join(second);
  queue.put_back(third);
  CHECK(queue.size() == 3);
  CHECK(queue.first() == &third);
  CHECK(queue.any([](const Waits& call) { return call.number == 2; }));
  queue.withdraw(second);
  CHECK_FALSE(queue.any([](const Waits& call) { return call.number == 2; }));
  queue.take_first();
  CHECK(queue.take_all() == std::deque<Waits*>{&first});
  CHECK(queue.empty());
}

TEST_CASE("a session that its client initialises has to be told what it was, or ends with it") {
  ClosedLoop loop;
  config::Server server;
  server.name = "files";
  LegacyListens listens;
  SessionPlan plan;
  plan.key = "session:1";
  plan.era = mcp::Era::legacy;
  SessionGroup group(loop, server, plan, listens);

  CHECK_FALSE(group.replays());
  CHECK_FALSE(group.facade.has_handshake());
  CHECK(group.session_over().session_over);
  core::UpstreamRequest request;
  request.message = mcp::Message::parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})").value();
  request.client_era = mcp::Era::legacy;
  request.http_status_visible = false;  // its client cannot be told by 404
  NoServer no_server(loop, server);
  NoOwner owner;
  HttpCall call(no_server.parts, std::move(request), owner);
  group.join(call);
  CHECK(call.group == "session:1");
  group.queue().withdraw(call);
  call.cancel("");
  CHECK(group.replays());
  CHECK_FALSE(group.session_over().session_over);
  group.revive();
  CHECK_FALSE(group.wants_pump());  // there is nothing to initialise it with yet
  group.facade.keep_handshake(R"({"protocolVersion":"2025-06-18"})", nullptr);
  CHECK(group.facade.has_handshake());
  group.revive();
  CHECK(group.wants_pump());
  group.opened();
  CHECK_FALSE(group.wants_pump());
}
