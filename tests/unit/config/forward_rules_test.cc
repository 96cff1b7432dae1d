#include "config/forward_rules.h"

#include <catch2/catch.hpp>

using namespace lineward::config;

namespace {

Server http_server() {
  Server server;
  server.name = "s";
  server.url = "http://127.0.0.1:1/mcp";
  return server;
}

}  // namespace

TEST_CASE("the trace of a client's headers passes, and no other header without a rule") {
  ForwardRules rules(http_server(), false);
  CHECK(rules.passes("traceparent"));
  CHECK(rules.passes("TraceState"));
  for (const char* name :
       {"Cookie", "Origin", "Referer", "Authorization", "X-Tenant", "User-Agent", "Accept-Language",
        "X-Forwarded-For", "Connection", "Keep-Alive", "TE", "Upgrade", "Mcp-Session-Id", "baggage"})
    CHECK_FALSE(rules.passes(name));
}

TEST_CASE("names and globs add headers; a glob never adds a header that identifies the client") {
  Server server = http_server();
  server.forward_headers = {"X-*", "?-Id", "Cookie"};
  ForwardRules rules(server, false);
  CHECK(rules.passes("x-tenant"));
  CHECK(rules.passes("X-TENANT"));
  CHECK(rules.passes("a-id"));
  CHECK(rules.passes("cookie"));
  server.forward_headers = {"*"};
  ForwardRules all(server, false);
  CHECK(all.passes("Accept-Language"));
  for (const char* name :
       {"Cookie", "Origin", "Referer", "Authorization", "Connection", "Transfer-Encoding", "Host",
        "Content-Type", "Accept", "Mcp-Method", "Mcp-Param-Region", "MCP-Protocol-Version",
        "Proxy-Authorization", "Last-Event-ID", "TE", "Trailer", "Upgrade", "Keep-Alive", "Lineward-Session"})
    CHECK_FALSE(all.passes(name));
}

TEST_CASE("a fixed header is withheld in every spelling that a server may take for it") {
  Server server = http_server();
  server.forward_headers = {"X-*", "X_Tenant"};
  server.headers = {{"X-Tenant", "ours"}};
  ForwardRules rules(server, false);
  for (const char* name : {"X-Tenant", "x-tenant", "X_Tenant", "x-Tenant", "X.Tenant", "x~tenant"})
    CHECK_FALSE(rules.passes(name));
  CHECK(rules.passes("X-Tenants"));
}

TEST_CASE("the plain sidecar passes Authorization, unless the server has its own") {
  Server server = http_server();
  CHECK(ForwardRules(server, true).passes("authorization"));
  server.headers = {{"Authorization", "Bearer ours"}};
  CHECK_FALSE(ForwardRules(server, true).passes("authorization"));
  server.url.clear();
  server.headers.clear();
  CHECK_FALSE(ForwardRules(server, true).passes("authorization"));
}

TEST_CASE("what is a plain sidecar") {
  Config config;
  CHECK(plain_sidecar(config) == nullptr);
  config.servers = {http_server()};
  CHECK(plain_sidecar(config) == &config.servers[0]);
  config.servers.push_back(http_server());
  CHECK(plain_sidecar(config) == nullptr);
  config.servers[0].disabled = true;
  CHECK(plain_sidecar(config) == &config.servers[1]);
  config.servers[1].url.clear();
  CHECK(plain_sidecar(config) == nullptr);
}

TEST_CASE("forwardHeaders is checked") {
  CHECK(forward_fault({"X-*", "Cookie", "Authorization", "x_y"}).empty());
  CHECK(forward_fault(std::vector<std::string>(64, "X")).empty());
  CHECK_FALSE(forward_fault(std::vector<std::string>(65, "X")).empty());
  for (const char* bad : {"", "a b", "a:b", "größe", "Connection", "keep-alive", "Transfer-Encoding", "Host",
                          "TE", "Upgrade", "Trailer", "Content-Length", "Proxy-Authorization",
                          "mcp-session-id", "Mcp-Param-X", "lineward-session"})
    CHECK_FALSE(forward_fault({bad}).empty());
  CHECK_FALSE(forward_fault({std::string(101, 'x')}).empty());
}
