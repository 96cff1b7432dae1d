#include "config/reader/listeners.h"

#include <catch2/catch.hpp>

#include "config/reader/changes.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;
using namespace std::chrono_literals;

namespace {

const std::string kServer = "mcpServers: { s: { url: 'http://127.0.0.1:1/mcp' }, t: { command: cat } }\n";

LoadResult with(const std::string& listeners, const std::string& more = {}) {
  return load("listeners:\n" + listeners + more + kServer);
}

Config good(const std::string& listeners, const std::string& more = {}) {
  LoadResult result = with(listeners, more);
  INFO(result.report(false));
  CHECK(result.ok());
  return result.config;
}

}  // namespace

TEST_CASE("a listener inherits what it does not say, except what belongs to its address") {
  const Config config =
      good("  inside: { address: ':9001', path: /in/, headTimeout: 3s, servers: [s], auth: off }\n",
           "listen: { path: /mcp, idleTimeout: 20s, headTimeout: 5s, allowedHosts: [a], trustedProxies: "
           "[10.0.0.1],\n"
           "  proxyProtocol: trusted, tls: { selfSigned: true } }\n");
  REQUIRE(config.listeners.size() == 1);
  const FurtherListen& one = config.listeners[0];
  CHECK(one.name == "inside");
  CHECK(one.listen.address == ":9001");
  CHECK(one.listen.path == "/in");
  CHECK(one.listen.head_timeout == 3s);
  CHECK(one.listen.idle_timeout == 20s);
  CHECK(one.listen.allowed_hosts == std::vector<std::string>{"a"});
  CHECK(one.listen.trusted_proxies == std::vector<std::string>{"10.0.0.1"});
  CHECK(one.listen.proxy_protocol == ProxyProtocol::off);
  CHECK_FALSE(one.listen.tls.enabled());
  CHECK(one.servers == std::vector<std::string>{"s"});
  CHECK_FALSE(one.authenticates);
  CHECK(config.listen.head_timeout == 5s);
  CHECK(good("  a: { address: ':9001' }\n").listeners[0].listen.path == "/mcp");
}

TEST_CASE("what the environment says of listen is inherited too") {
  LoadResult result =
      load("listeners: { a: { address: ':9001' } }\n" + kServer, {{"LINEWARD_LISTEN_IDLE_TIMEOUT", "33s"}});
  CHECK(result.config.listeners.at(0).listen.idle_timeout == 33s);
}

TEST_CASE("what is wrong with a listener is told where it stands") {
  CHECK(findings(with("  a: { path: /x }\n")) == "missing-option 2:6+1");
  CHECK(findings(with("  a: { address: ':1', maxSessions: 3 }\n")) == "bad-value 2:23+11");
  CHECK(findings(with("  a: { address: ':1', maxBufferedBytes: 3MiB }\n")) == "bad-value 2:23+16");
  CHECK(findings(with("  a: { address: ':1', servers: [x] }\n")) == "unknown-server 2:23+7");
  CHECK(findings(with("  a: { address: ':1', servers: s }\n")).rfind("wrong-type 2:", 0) == 0);
  CHECK(findings(with("  a: { address: ':1', auth: maybe }\n")).rfind("wrong-type 2:", 0) == 0);
  CHECK(findings(with("  a: { address: ':1', hedTimeout: 1s }\n")).rfind("unknown-option 2:23+10", 0) == 0);
  CHECK(findings(with("  a: { address: ':1', headTimeout: 1 }\n")).rfind("no-unit 2:", 0) == 0);
  CHECK(findings(with("  a: { address: '8001' }\n")).rfind("bad-value 2:", 0) == 0);
  CHECK(findings(with("  a.b: { address: ':1' }\n")).rfind("bad-name 2:3+3", 0) == 0);
  CHECK(findings(with("  a: ':1'\n")).rfind("wrong-type 2:", 0) == 0);
  CHECK(findings(load("listeners: [a]\n" + kServer)).rfind("wrong-type 1:", 0) == 0);
  CHECK(findings(with("  a: { address: ':1' }\n  b: { address: '127.0.0.1:1' }\n")) == "same-address 3:8+7");
  CHECK(findings(with("  a: { address: ':8000' }\n")) == "same-address 2:8+7");
  CHECK(findings(with("  a: { address: stdio }\n")).rfind("bad-value 2:8+7", 0) == 0);
  CHECK(findings(with("  a: { address: ':1', tls: { key: k } }\n")) == "missing-option 2:30+3");
  CHECK(findings(with("  a: { address: ':1', trustedProxies: [x] }\n")) == "bad-network 2:23+14");
  LoadResult pointless = with("  a: { address: ':1', auth: off }\n");
  CHECK(findings(pointless) == "ignored-option 2:23+4");
  CHECK(pointless.ok());
  std::string many;
  for (int i = 1; i <= 17; ++i)
    many += "  l" + std::to_string(i) + ": { address: ':" + std::to_string(i) + "' }\n";
  CHECK(findings(with(many)) == "too-many 18:3+3");
  const std::string peers = "replicas: { keyFile: /nowhere, name: a, peers: { b: 'http://b:1' } }\n";
  CHECK(findings(with("  a: { address: ':1', path: /x }\n", peers)).find("bad-value 2:8+7") !=
        std::string::npos);
  CHECK(findings(with("  a: { address: ':1' }\n", peers)).find("bad-value") == std::string::npos);
}

TEST_CASE("a reload names what changed of a listener") {
  const Config now = good("  a: { address: ':1' }\n  b: { address: ':2', path: /b, headTimeout: 1s }\n");
  const Config next =
      good("  b: { address: ':3', path: /b, headTimeout: 2s, servers: [t] }\n  c: { address: ':4' }\n");
  std::string text;
  for (const SettingChange& one : compare(now, next).settings) {
    CHECK_FALSE(one.needs_restart);
    text += one.path + " " + one.what + "; ";
  }
  CHECK(text ==
        "listeners.b address :2 → :3; listeners.b headTimeout 1s → 2s; listeners.b servers changed; "
        "listeners.c added at :4; listeners.a removed; ");
  CHECK(compare(now, now).settings.empty());
}
