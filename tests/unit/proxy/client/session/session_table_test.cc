#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "proxy/client/session/session.h"

using namespace lineward;
using namespace lineward::client;

namespace {

struct Table {
  explicit Table(uint32_t most) {
    limits.max_sessions = most;
    sessions = std::make_unique<SessionTable>(loop, limits, [this](const std::string& id) {
      ended.push_back(id);
      sessions->remove(id);
    });
    for (uint32_t i = 0; i < most; ++i)
      ids.push_back(create()->id);
  }
  ~Table() {
    sessions.reset();
    turn();
  }
  // All of them in one turn of the loop, and so at one time.
  Session* create() { return sessions->create("p", "s", nullptr); }
  Session& at(size_t i) { return *sessions->find(ids.at(i)); }
  void turn() {
    loop.defer([this] { loop.stop(); });
    loop.run();
  }

  net::Loop loop;
  config::Listen limits;
  std::vector<std::string> ended;
  std::unique_ptr<SessionTable> sessions;
  std::vector<std::string> ids;
};

}  // namespace

TEST_CASE(
    "the session that was idle longest makes room, also when it is one of many that were found at once") {
  Table table(640);
  // A look finds ten of them.
  for (uint32_t i = 0; i < 5; ++i)
    REQUIRE(table.create() != nullptr);
  CHECK(table.ended == std::vector<std::string>(table.ids.begin(), table.ids.begin() + 5));
  table.ended.clear();
  // Among the others that were found one is used, one is busy, and one ends.
  table.sessions->touch(table.at(5));
  table.at(6).exchanges = 1;
  table.sessions->remove(table.ids[7]);
  REQUIRE(table.create() != nullptr);  // there is room for this one
  CHECK(table.ended.empty());
  REQUIRE(table.create() != nullptr);
  REQUIRE(table.create() != nullptr);
  CHECK(table.ended == std::vector{table.ids[8], table.ids[9]});
  table.ended.clear();
  for (size_t i = 10; i < 640; ++i)
    REQUIRE(table.create() != nullptr);
  CHECK(table.ended == std::vector<std::string>(table.ids.begin() + 10, table.ids.end()));
}

TEST_CASE("a session that its client never named makes room first, whenever that was found") {
  Table table(256);
  REQUIRE(table.create() != nullptr);
  CHECK(table.ended == std::vector{table.ids[0]});
  table.sessions->forsake(table.at(200));
  table.sessions->forsake(table.at(100));
  for (uint32_t i = 0; i < 3; ++i)
    REQUIRE(table.create() != nullptr);
  CHECK(table.ended == std::vector{table.ids[0], table.ids[100], table.ids[200], table.ids[1]});
}

TEST_CASE("where all sessions are busy there is no room, until one is not") {
  Table table(3);
  for (size_t i = 0; i < 3; ++i)
    table.at(i).exchanges = 1;
  CHECK(table.create() == nullptr);
  CHECK(table.create() == nullptr);
  table.at(1).exchanges = 0;
  table.sessions->touch(table.at(1));
  REQUIRE(table.create() != nullptr);
  CHECK(table.ended == std::vector{table.ids[1]});
}
