#include <catch2/catch.hpp>

#include "config/forward_rules.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using testing::load;

namespace {

constexpr const char* kServer = "mcpServers:\n  a: { url: 'http://127.0.0.1:1/mcp', forwardHeaders: [";

std::string with_auth(const std::string& headers) {
  return "auth:\n  apiKey: { file: k }\n" + (kServer + headers) + "] }\n";
}

}  // namespace

TEST_CASE("with auth: what clients show to the gateway is never forwarded") {
  for (const char* header : {"Authorization", "authorization", "X-API-Key", "X-Other, AUTHORIZATION"}) {
    LoadResult result = load(with_auth(header));
    INFO(header);
    CHECK_FALSE(result.ok());
    CHECK(result.report(false).find("would pass on what clients show to this gateway") != std::string::npos);
  }
  LoadResult globs = load(with_auth("'X-*', '*'"));
  REQUIRE(globs.ok());
  ForwardRules rules(globs.config.servers[0], plain_sidecar(globs.config) != nullptr);
  CHECK(rules.passes("X-Tenant"));
  CHECK_FALSE(rules.passes("X-API-Key"));
  CHECK_FALSE(rules.passes("Authorization"));
  CHECK(load(std::string(kServer) + "Authorization] }\n").ok());
}

TEST_CASE("auth: names ways to come in, with the options of each") {
  LoadResult result = load(
      "auth:\n  jwt:\n    issuer: https://a.example\n    jwks: { url: 'https://a.example/jwks', refresh: 5m "
      "}\n"
      "    toolScopes: { 'delete_*': 'a b' }\n  anonymous: true\n"
      "  resourceMetadata: { resource: 'https://m.example/mcp' }\n");
  REQUIRE(result.ok());
  const Auth& auth = result.config.auth;
  REQUIRE(auth.methods.size() == 1);
  CHECK(auth.anonymous);
  CHECK(auth.methods[0].values.duration("jwks.refresh") == std::chrono::minutes(5));
  CHECK(auth.methods[0].values.text("jwks.url") == "https://a.example/jwks");
  CHECK(auth.methods[0].values.duration("leeway") == std::chrono::seconds(30));
  CHECK(auth.methods[0].values.map("toolScopes")[0].second == "a b");
  CHECK_FALSE(load("auth: {}\n").ok());
  CHECK_FALSE(load("auth: { jwt: { audiences: [x] } }\n").ok());              // no issuer
  CHECK_FALSE(load("auth: { apiKey: { file: k, header: Cookie } }\n").ok());  // no such place
  CHECK_FALSE(load("auth: { apiKey: { keys: [], requiredScopes: ['a\"b'] } }\n").ok());
  CHECK_FALSE(load("auth: { anonymous: true, resourceMetadata: { resource: 'mcp' } }\n").ok());
}

TEST_CASE("anonymous callers have no scopes, and the report says what that means") {
  const std::string key = "auth:\n  anonymous: true\n  apiKey: { file: k";
  const auto told = [](const std::string& text) {
    LoadResult result = load(text);
    CHECK(result.ok());
    return testing::findings(result).find("anonymous-scopes") != std::string::npos ? result.report(false)
                                                                                   : std::string();
  };
  CHECK(told(key + " }\n").empty());
  CHECK(told(key + ", toolScopes: { 'delete_*': write } }\n").find("is refused to them") !=
        std::string::npos);
  CHECK(told(key + ", methodScopes: { 'tools/*': write } }\n").find("is refused to them") !=
        std::string::npos);
  CHECK(told(key + ", requiredScopes: [write] }\n").find("asked of credentials alone") != std::string::npos);
}

TEST_CASE("keys over plain http are for this machine alone") {
  const auto with = [](const std::string& url) {
    return load("auth:\n  jwt: { issuer: 'https://a.example', audiences: [x], jwks: { url: '" + url +
                "' } }\n");
  };
  CHECK(with("http://127.0.0.1:8080/jwks").ok());
  LoadResult result = with("http://auth.example/jwks");
  CHECK_FALSE(result.ok());
  CHECK(result.report(false).find("write https://") != std::string::npos);
}
