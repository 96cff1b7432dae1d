// Whose session ends when there is no room for one more.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/account.h"
#include "client/session/session.h"

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

TEST_CASE("who has its share of sessions makes room with its own, the longest idle one") {
  World world;
  const std::string first = world.open(world.a)->id;
  world.open(world.a);
  world.open(world.a);
  CHECK(world.ended.empty());
  REQUIRE(world.open(world.a) != nullptr);
  CHECK(world.ended == std::vector<std::string>{first});
  REQUIRE(world.open(world.b) != nullptr);
  CHECK(world.ended.size() == 1);
}

TEST_CASE("in a full table who has most gives one, and nobody with less loses any") {
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

TEST_CASE("where all of its sessions are busy a caller with its share gets no more; others do") {
  World world;
  for (int i = 0; i < 3; ++i)
    ++world.open(world.a)->exchanges;
  CHECK(world.open(world.a) == nullptr);
  CHECK(world.open(world.b) != nullptr);
  CHECK(world.ended.empty());
}

TEST_CASE("one who has the gateway alone has no share") {
  World world;
  for (int i = 0; i < 4; ++i)
    REQUIRE(world.open(nullptr) != nullptr);
  CHECK(world.ended.empty());
}
