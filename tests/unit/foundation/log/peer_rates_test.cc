#include "foundation/log/peer_rates.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace lineward::log;
using std::chrono::milliseconds;

namespace {

struct Told {
  std::string event, server, address;
  uint64_t lines;
};

struct World {
  std::vector<Told> told;
  milliseconds now{1000};
  Rate peer{3, 1}, all{100, 10};
  PeerRates rates{{"upstream", "remote"},
                  [this](Level, std::string_view event, std::span<const std::string> whose, uint64_t lines) {
                    told.push_back({std::string(event), whose[0], whose[1], lines});
                  }};

  World() {
    when_left_out([this] { ++asked; });
  }
  ~World() { when_left_out(nullptr); }
  bool allows(std::string_view event, std::initializer_list<Field> fields) {
    return rates.allows(Level::info, event, {fields.begin(), fields.size()}, peer, all, now);
  }
  int asked = 0;
};

}  // namespace

TEST_CASE("the first events of a peer are written, the rest is counted and told once a second") {
  World world;
  int written = 0;
  for (int i = 0; i < 1000; ++i)
    written += world.allows("upstream.dropped", {{"upstream", "a"}, {"kind", "not_json"}}) ? 1 : 0;
  CHECK(written == 3);
  CHECK(world.asked == 1);
  CHECK(world.allows("upstream.dropped", {{"upstream", "b"}}));  // another peer
  CHECK(world.allows("upstream.exit", {{"upstream", "a"}}));     // another event
  tell_left_out();
  REQUIRE(world.told.size() == 1);
  CHECK(world.told[0].event == "upstream.dropped");
  CHECK(world.told[0].server == "a");
  CHECK(world.told[0].lines == 997);
  world.now += milliseconds(1000);
  CHECK(world.allows("upstream.dropped", {{"upstream", "a"}}));
  CHECK_FALSE(world.allows("upstream.dropped", {{"upstream", "a"}}));
  CHECK(world.asked == 2);
}

TEST_CASE("a peer is its address without the port, of IPv6 a /64") {
  World world;
  int written = 0;
  for (int port = 1; port <= 50; ++port)
    written += world.allows("request.refused", {{"remote", "10.0.0.1:" + std::to_string(port)}}) ? 1 : 0;
  for (int host = 1; host <= 9; ++host) {
    const std::string address = "[2001:db8::" + std::to_string(host) + "]:443";
    written += world.allows("request.refused", {{"remote", address}}) ? 1 : 0;
  }
  CHECK(written == 6);
}

TEST_CASE("however many peers there are, the table and the lines are bounded") {
  World world;
  int written = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string address = "10." + std::to_string(i / 65536) + "." + std::to_string(i / 256 % 256) +
                                "." + std::to_string(i % 256);
    written += world.allows("request.refused", {{"remote", address + ":1"}}) ? 1 : 0;
  }
  CHECK(written == 100);
  CHECK(world.rates.peers() <= PeerRates::kMostPeers);
  tell_left_out();
  uint64_t counted = 0;
  for (const Told& one : world.told)
    counted += one.lines;
  CHECK(counted == 99'900);
}
