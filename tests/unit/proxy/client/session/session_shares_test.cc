// The choice of the session that ends when the table is full.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "foundation/base/account.h"
#include "proxy/client/session/session.h"

using namespace lineward;

namespace {

struct World {
  World() { Account::limit_shares(75); }
  ~World() {
    Account::limit_shares(100);
    for (const std::string& id : table.ids())
      table.remove(id);
    loop.close_deferred();
  }
  client::Session* open(const AccountPtr& caller) { return table.create("p", "s", caller); }

  config::Listen limits = [] {
    config::Listen listen;
    listen.max_sessions = 4;
    return listen;
  }();
  net::Loop loop;
  std::vector<std::string> ended;
  client::SessionTable table{loop, limits, [this](const std::string& id) {
                               ended.push_back(id);
                               table.remove(id);
                             }};
  AccountPtr a = Account::of("principal a"), b = Account::of("principal b");
};

}  // namespace

TEST_CASE("a caller may have more than its share of sessions while no other wants one") {
  World world;
  const std::string first = world.open(world.a)->id;
  const std::string second = world.open(world.a)->id;
  world.open(world.a);
  world.open(world.a);
  CHECK(world.ended.empty());
  REQUIRE(world.open(world.a) !=
          nullptr);  // in a full table it makes room with its own, the longest idle one
  CHECK(world.ended == std::vector<std::string>{first});
  REQUIRE(world.open(world.b) != nullptr);
  CHECK(world.ended == std::vector<std::string>{first, second});
}

TEST_CASE(
    "in a full table a session beyond its caller's share goes though it has a stream, and none with a call") {
  World world;
  std::vector<client::Session*> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(world.open(world.a));
    all.back()->use_pipe([](const std::string&) {});
  }
  ++all.front()->exchanges;
  const std::string second = all[1]->id;
  CHECK(world.open(world.a) == nullptr);
  CHECK(world.ended.empty());
  client::Session* of_b = world.open(world.b);
  REQUIRE(of_b != nullptr);
  CHECK(world.ended == std::vector<std::string>{second});
  ++of_b->exchanges;
  CHECK(world.open(world.b) == nullptr);  // what is within its share stays
  CHECK(world.ended.size() == 1);
}

TEST_CASE("in a full table the caller with most sessions loses one, and no caller with fewer loses any") {
  World world;
  const std::string bs = world.open(world.b)->id;
  const std::string first = world.open(world.a)->id;
  world.open(world.a);
  world.open(world.a);
  REQUIRE(world.open(Account::of("principal c")) != nullptr);
  CHECK(world.ended == std::vector<std::string>{first});
  REQUIRE(world.open(world.a) != nullptr);
  CHECK(world.table.find(bs) != nullptr);
}

TEST_CASE("where all of its sessions are busy a caller with its share gets no more than there is room for") {
  World world;
  for (int i = 0; i < 3; ++i)
    ++world.open(world.a)->exchanges;
  const std::string lent = world.open(world.a)->id;
  ++world.table.find(lent)->exchanges;
  CHECK(world.open(world.a) == nullptr);
  --world.table.find(lent)->exchanges;
  CHECK(world.open(world.b) != nullptr);
  CHECK(world.ended == std::vector<std::string>{lent});
}

TEST_CASE("a session is unused from the end of its last stream or call on") {
  World world;
  client::Session* session = world.open(world.a);
  CHECK(session->unused_for() == std::chrono::milliseconds(0));
  ++session->exchanges;
  CHECK_FALSE(session->unused_for());
  --session->exchanges;
  session->use_pipe([](const std::string&) {});
  CHECK_FALSE(session->unused_for());
}

TEST_CASE("a caller that has the gateway alone has no share") {
  World world;
  for (int i = 0; i < 4; ++i)
    REQUIRE(world.open(nullptr) != nullptr);
  CHECK(world.ended.empty());
}
