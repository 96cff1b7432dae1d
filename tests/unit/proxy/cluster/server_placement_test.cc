#include "proxy/cluster/server_placement.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::cluster;

namespace {

config::Server over_http(const std::string& name) {
  config::Server server;
  server.name = name;
  server.url = "http://127.0.0.1:1/mcp";
  return server;
}

config::Server over_stdio(const std::string& name) {
  config::Server server;
  server.name = name;
  server.command = "true";
  return server;
}

}  // namespace

TEST_CASE("all workers serve a server over HTTP, and one a stdio server; each keeps its home") {
  config::Config config;
  config.aggregate.enabled = false;
  config.servers = {over_stdio("a"), over_http("b"), over_stdio("c"), over_http("d")};
  ServerPlacement placement;
  place_servers(placement, config, 2);
  for (const char* name : {"b", "d"})
    CHECK(shared_server(placement, name) != nullptr);
  for (const char* name : {"a", "c"})
    CHECK(shared_server(placement, name) == nullptr);
  CHECK(worker_of(placement, "a") != worker_of(placement, "b"));
  CHECK(worker_of(placement, "c") != worker_of(placement, "d"));
  CHECK(is_on(placement, "b", 0));
  CHECK(is_on(placement, "b", 1));
  CHECK(is_on(placement, "a", 0) != is_on(placement, "a", 1));
  const auto shared = shared_server(placement, "b");
  const size_t home = worker_of(placement, "b");
  place_servers(placement, config, 2);
  CHECK(shared_server(placement, "b") == shared);
  CHECK(worker_of(placement, "b") == home);
}

TEST_CASE("with all servers as one, the home of a server over HTTP is where those are") {
  config::Config config;
  config.servers = {over_http("a"), over_http("b"), over_stdio("c"), over_stdio("d"), over_stdio("e")};
  ServerPlacement placement;
  place_servers(placement, config, 3);
  CHECK(worker_of(placement, "a") == 0);
  CHECK(worker_of(placement, "b") == 0);
  CHECK(worker_of(placement, "c") == 1);
  CHECK(worker_of(placement, "d") == 2);
  CHECK(worker_of(placement, "e") == 0);
}

TEST_CASE(
    "one worker serves a server over HTTP if its configuration says so, or has few of what is divided") {
  for (int k = 0; k < 5; ++k) {
    config::Server server = over_http("s");
    if (k == 1) server.workers = config::ServerWorkers::one;
    if (k == 2) server.limits.max_connections = 63;
    if (k == 3) server.limits.max_sessions = 63;
    if (k == 4) server.limits.idle_connections = 3;
    CHECK(is_on_all(server, 4) == (k == 0));
    CHECK_FALSE(is_on_all(server, 1));
  }
}

TEST_CASE("all workers serve all servers as one, and know the era of each") {
  config::Config config;
  config.servers = {over_http("a"), over_stdio("b")};
  ServerPlacement placement;
  place_servers(placement, config, 1);
  CHECK_FALSE(is_aggregate_on_all(placement, config));
  place_servers(placement, config, 2);
  CHECK(is_aggregate_on_all(placement, config));
  for (const char* name : {"a", "b"}) {
    const auto era = place_of(placement, name).known_era();
    REQUIRE(era);
    CHECK_FALSE(era->is_modern());
  }
  const ServerPlace home = place_of(placement, "b");
  CHECK(place_of(placement, "a").era == nullptr);
  home.era->publish(home.era->begin(), true);
  CHECK(home.known_era()->is_modern());
  const uint64_t old = home.era->begin();
  CHECK_FALSE(home.known_era()->is_modern());
  CHECK(home.known_era()->was_modern());
  home.era->begin();
  CHECK_FALSE(home.known_era()->was_modern());  // the one before was never known
  home.era->publish(old, true);                 // by a version that is leaving
  CHECK_FALSE(home.known_era()->is_modern());
  config.aggregate.workers = config::ServerWorkers::one;
  CHECK_FALSE(is_aggregate_on_all(placement, config));
}

TEST_CASE("a removed server keeps its home, and is no load for new ones") {
  config::Config config;
  config.aggregate.enabled = false;
  ServerPlacement placement;
  for (int i = 0; i < 9; ++i) {
    config.servers = {over_stdio("gone" + std::to_string(i)), over_stdio("stays")};
    place_servers(placement, config, 2);
  }
  const size_t home = worker_of(placement, "stays");
  config.servers = {over_stdio("stays"), over_stdio("new")};
  place_servers(placement, config, 2);
  CHECK(worker_of(placement, "stays") == home);
  CHECK(worker_of(placement, "new") != home);
}
