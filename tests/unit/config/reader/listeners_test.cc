#include "config/reader/listeners.h"

#include <catch2/catch.hpp>
#include <tuple>
#include <utility>

#include "config/auth_blocks.h"
#include "config/forward_rules.h"
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

TEST_CASE("a listener has the auth of the gateway, none, or its own, read as the one at the top") {
  const Config config = good(
      "  on: { address: ':1' }\n  open: { address: ':2', auth: off }\n"
      "  own: { address: ':3', auth: { anonymous: true, apiKey: { file: k, toolScopes: { 'a*': w } },\n"
      "    resourceMetadata: { resource: 'https://in.example/mcp' } } }\n",
      "auth: { apiKey: { file: k } }\n");
  REQUIRE(config.listeners.size() == 3);
  const auto& [on, open, own] = std::tie(config.listeners[0], config.listeners[1], config.listeners[2]);
  CHECK(on.authenticates);
  CHECK_FALSE(on.auth.given);
  CHECK_FALSE(open.authenticates);
  REQUIRE(own.auth.given);
  CHECK(own.authenticates);
  CHECK(own.auth.anonymous);
  REQUIRE(own.auth.methods.size() == 1);
  CHECK(own.auth.methods[0].name == "own.apiKey");
  CHECK(own.auth.methods[0].listener == "own");
  CHECK(own.auth.methods[0].has_resource);
  CHECK(own.auth.methods[0].realm() == "listener:own/");
  CHECK(own.auth.resource_metadata.resource == "https://in.example/mcp");
  CHECK(config.auth.methods[0].name == "apiKey");
  CHECK(config.auth.methods[0].realm().empty());
  CHECK_FALSE(config.auth.methods[0].has_resource);
  CHECK(on.listen.realm.empty());
  CHECK(open.listen.realm == "off/");
  CHECK(own.listen.realm == "listener:own/");
  CHECK(&auth_of(config, "own") == &own.auth);
  for (const char* name : {"", "on", "open", "gone"})
    CHECK(&auth_of(config, name) == &config.auth);
}

TEST_CASE("certificates of other authorities name other principals") {
  const Config config = good(
      "  same: { address: ':1', tls: { selfSigned: true, clientCertificates: { authorities: /ca.pem } } }\n"
      "  other: { address: ':2', tls: { selfSigned: true, clientCertificates: { authorities: /b.pem } } }\n"
      "  open: { address: ':3', auth: off,\n"
      "    tls: { selfSigned: true, clientCertificates: { authorities: /b.pem } } }\n"
      "  alone: { address: ':4', auth: {},\n"
      "    tls: { selfSigned: true, clientCertificates: { authorities: /ca.pem } } }\n",
      "listen: { tls: { selfSigned: true, clientCertificates: { authorities: /ca.pem } } }\n"
      "auth: { apiKey: { file: k } }\n");
  CHECK(config.listeners[0].listen.tls.realm.empty());
  CHECK(config.listeners[1].listen.tls.realm == "listener:other/");
  CHECK(config.listeners[2].listen.tls.realm == "listener:open/");
  CHECK(config.listeners[3].listen.tls.realm == "listener:alone/");
}

TEST_CASE("what is wrong with an auth of a listener is told where it stands") {
  CHECK(findings(with("  a: { address: ':1', auth: {} }\n")) == "missing-option 2:23+4");
  CHECK(findings(with("  a: { address: ':1', auth: { kerberos: {} } }\n")).find("unknown-option 2:31+8") !=
        std::string::npos);
  CHECK(findings(with("  a: { address: ':1', auth: { apiKey: { fil: k } } }\n"))
            .rfind("unknown-option 2:41+3", 0) == 0);
  CHECK(findings(with("  a: { address: ':1', auth: { jwt: {} } }\n")).find("missing-option 2:31+3") !=
        std::string::npos);
  CHECK(findings(with("  a: { address: ':1', auth: [on] }\n")) == "wrong-type 2:29+1");
  CHECK(findings(with("  a: { address: ':1', auth: { apiKey: { file: k, name: x } } }\n"
                      "  b: { address: ':2', auth: { apiKey: { file: k, name: x } } }\n")) ==
        "duplicate-key 3:1+1");
  CHECK(findings(with("  listen: { address: ':1' }\n")).rfind("bad-name 2:3+6", 0) == 0);
  const std::string peers = "replicas: { keyFile: /nowhere, name: a, peers: { b: 'http://b:1' } }\n";
  CHECK(findings(with("  a: { address: ':1', auth: { apiKey: { file: k } } }\n", peers))
            .find("bad-value 2:8+7") != std::string::npos);
}

TEST_CASE("credentials that a listener's own auth judges are never passed on") {
  const std::string server = "mcpServers: { s: { url: 'http://127.0.0.1:1/mcp' } }\n";
  const std::string own = "listeners: { a: { address: ':1', auth: { apiKey: { file: k } } } }\n";
  CHECK(plain_sidecar(load(server).config) != nullptr);
  CHECK(plain_sidecar(load(own + server).config) == nullptr);
  CHECK_FALSE(
      load(own + "mcpServers: { s: { url: 'http://127.0.0.1:1/mcp', forwardHeaders: [Authorization] } }\n")
          .ok());
}

TEST_CASE("a reload notices another auth of a listener") {
  const std::string own = "  a: { address: ':1', auth: { apiKey: { file: k } } }\n";
  const std::string other = "  a: { address: ':1', auth: { apiKey: { file: l } } }\n";
  const std::string none = "  a: { address: ':1' }\n";
  CHECK(have_same_plugins(good(own), good(own)));
  CHECK(have_same_plugins(good(none), load(kServer).config));
  for (const auto& [now, next] : {std::pair(own, other), {own, none}, {none, own}}) {
    CHECK_FALSE(have_same_plugins(good(now), good(next)));
    const Changes changes = compare(good(now), good(next));
    REQUIRE(changes.settings.size() == 1);
    CHECK(changes.settings[0].path == "listeners.a");
    CHECK(changes.settings[0].what == "auth changed");
    CHECK_FALSE(changes.settings[0].needs_restart);
  }
  CHECK_FALSE(have_same_plugins(good(own), load(kServer).config));
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

TEST_CASE("a plugin may be for some listeners only") {
  const std::string two = "  a: { address: ':1' }\n  b: { address: ':2' }\n";
  const Config config =
      good(two, "plugins: [ { rateLimit: { requests: 1, per: 1m }, listeners: [listen, b] } ]\n");
  REQUIRE(config.plugins.size() == 1);
  CHECK(config.plugins[0].is_at(""));
  CHECK(config.plugins[0].is_at("b"));
  CHECK_FALSE(config.plugins[0].is_at("a"));
  const Config all = good(two, "rateLimit: { requests: 1, per: 1m }\n");
  CHECK(all.plugins[0].is_at("a"));
  CHECK_FALSE(have_same_plugins(config, all));
  const std::string limit = "plugins: [ { rateLimit: { requests: 1, per: 1m }, listeners: ";
  CHECK(findings(with(two, limit + "[c] } ]\n")).rfind("bad-value 4:1", 0) == 0);
  CHECK(findings(with(two, limit + "a } ]\n")).rfind("wrong-type 4:", 0) == 0);
  CHECK(findings(with(two, "auth: { apiKey: { file: k, listeners: [a] } }\n"))
            .rfind("unknown-option 4:28", 0) == 0);
}
