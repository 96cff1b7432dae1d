#include "operate/share/share_config.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "config/aggregate.h"

using namespace lineward;
using namespace std::chrono_literals;

namespace {

const share::SharePlace kPlace{"/run/x", "/run/x/share-k.mcp", "/run/x/share-k.lease", "/run/x/share-k.lock",
                               "/run/x/share-k.log"};

config::Config of_file() {
  config::Config config;
  config.listen.address = "stdio";
  config.listen.path = "/other";
  config.listen.max_body_bytes = 1234;
  config.listeners.emplace_back();
  config.auth.methods.emplace_back();
  config.replicas.key_file = "/key";
  config.workers = 8;
  config.shutdown.delay = 5s;
  for (const char* name : {"one", "two"}) {
    config::Server& server = config.servers.emplace_back();
    server.name = name;
    server.command = "true";
    server.timeouts.startup = 90s;
    server.limits.max_message_bytes = 64 << 20;
  }
  return config;
}

}  // namespace

TEST_CASE("a shared gateway listens on its socket alone, without authentication") {
  const config::Config shared = share::gateway_config(of_file(), kPlace);
  CHECK(shared.listen.address == "unix:/run/x/share-k.mcp");
  CHECK(shared.listen.path == "/mcp");
  CHECK(shared.listen.max_body_bytes == 1234);
  CHECK(shared.listeners.empty());
  CHECK(shared.auth.methods.empty());
  CHECK(shared.replicas.key_file.empty());
  CHECK(shared.workers == 1);
  CHECK(shared.shutdown.delay == 0ms);
  CHECK(shared.servers.size() == 2);
  CHECK(config::aggregate_path(shared) == "/mcp");
  CHECK(shared.servers[0].session_abandoned == 0ms);
}

TEST_CASE("a client's front has the shared gateway as its only server, and leaves limits to it") {
  const config::Config client = share::client_config(of_file(), kPlace, "0123456789abcdef0123456789abcdef");
  CHECK(client.listen.address == "stdio");
  CHECK(client.listen.max_body_bytes == 1234);
  CHECK(client.ops.address == "off");
  CHECK(client.admin.address == "off");
  REQUIRE(client.servers.size() == 1);
  const config::Server& server = client.servers[0];
  CHECK(server.url == "unix:/run/x/share-k.mcp:/mcp");
  REQUIRE(server.headers.size() == 1);
  CHECK(server.headers[0].second == "0123456789abcdef0123456789abcdef");
  CHECK(server.timeouts.startup >= 90s);
  CHECK(share::start_limit(of_file()) == 90s);
  CHECK(server.timeouts.request > 1h);
  CHECK(server.limits.max_message_bytes > uint64_t{64} << 20);
  CHECK(server.circuit_breaker.consecutive_failures == 0);
  CHECK(server.retry.on == std::vector<std::string>{"connect", "handshake"});
}

TEST_CASE("a client's front has the name of its server if there is only one") {
  config::Config config = of_file();
  config.servers.pop_back();
  CHECK(share::client_config(config, kPlace, "t").servers[0].name == "one");
}
