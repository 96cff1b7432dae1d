#include "upstream/session_group.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "upstream/session_plan.h"

using namespace lineward;
using namespace lineward::upstream;

namespace {

core::Scope session_of(std::string session, std::string principal) {
  core::Scope scope;
  scope.session = std::move(session);
  scope.principal = std::move(principal);
  return scope;
}

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

TEST_CASE("a session that is lost again and again is opened after pauses, until those who listen are told") {
  net::Loop loop;
  config::Server server;
  LegacyListens listens;
  SessionPlan plan;
  plan.key = "legacy";
  plan.era = mcp::Era::legacy;
  plan.initialize_params = "{}";
  SessionGroup group(loop, server, plan, listens);
  auto over = [] {};

  CHECK(group.replays());
  CHECK(group.can_initialize());
  CHECK_FALSE(group.must_wait(over));
  group.opened();
  CHECK(group.session_number() == 1);
  CHECK(group.opens_again(true));
  CHECK_FALSE(group.must_wait(over));  // the first may come at once
  for (int loss = 2; loss <= 6; ++loss) {
    CAPTURE(loss);
    CHECK(group.opens_again(true));
    CHECK(group.must_wait(over));
  }
  CHECK_FALSE(group.opens_again(true));
}

TEST_CASE("a session that its client initialises has to be told what it was, or ends with it") {
  net::Loop loop;
  config::Server server;
  server.name = "files";
  LegacyListens listens;
  SessionPlan plan;
  plan.key = "session:1";
  plan.era = mcp::Era::legacy;
  SessionGroup group(loop, server, plan, listens);

  CHECK_FALSE(group.replays());
  CHECK_FALSE(group.can_initialize());
  CHECK(group.session_over().session_over);
  group.sees_status = false;  // its client cannot be told by 404
  CHECK(group.replays());
  CHECK_FALSE(group.session_over().session_over);
  group.revive();
  CHECK_FALSE(group.wants_pump());  // there is nothing to initialise it with yet
  group.remember_handshake(R"({"protocolVersion":"2025-06-18"})", nullptr);
  CHECK(group.can_initialize());
  group.revive();
  CHECK(group.wants_pump());
  group.opened();
  CHECK_FALSE(group.wants_pump());
}
