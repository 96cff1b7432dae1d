#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/forward_rules.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using testing::findings;
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

TEST_CASE("files of keys are looked at as the gateway will, and what is wrong is told where they are named") {
  char folder[] = "/tmp/lineward-auth-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/keys";
  const auto write = [&](const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
  };
  LoadOptions options;
  options.plugins = &lineward::plugins::specs();
  options.directory = folder;
  const auto look = [&](const std::string& text) { return load_text(text, "t.yaml", options); };
  const std::string keys = "auth:\n  apiKey:\n    file: ./keys\n";
  CHECK(findings(look(keys)) == "bad-key-file 3:5+4");
  write("", 0600);
  LoadResult empty = look(keys);
  CHECK(findings(empty) == "bad-key-file 3:5+4");
  CHECK(empty.diagnostics.at(0).message == "apiKey.file: " + std::string(folder) + "/keys is empty");
  CHECK(empty.diagnostics.at(0).hint.find("lineward hash-key") != std::string::npos);
  const std::string line = "alice sha256:" + std::string(64, 'a') + "\n";
  write(line, 0666);
  CHECK(look(keys).diagnostics.at(0).message.find("world-writable") != std::string::npos);
  write(line, 0644);
  CHECK(findings(look(keys)) == "open-key-file 3:5+4");
  CHECK(look(keys).ok());
  write(line, 0600);
  CHECK(findings(look(keys)).empty());
  CHECK(findings(look("auth:\n  apiKey: { keys: [\"alice hunter2\"] }\n")) == "bad-key 2:13+4");
  CHECK(findings(look("auth:\n  apiKey: {}\n")) == "missing-option 2:3+6");
  // An option that cannot be read is not told twice.
  CHECK(findings(look("auth:\n  apiKey: { file: \"${NOT_SET}\" }\n")) == "missing-variable 2:19+12");
  CHECK(findings(look("auth:\n  jwt: { issuer: i, jwks: { file: keys } }\n")) == "bad-key-file 2:29+4");
  CHECK(findings(look("plugins:\n  - rateLimit: { requests: 1, redis: { caFile: none } }\n")) ==
        "bad-file 2:40+6");
  CHECK(findings(look("plugins:\n  - path: ./none.so\n")) == "missing-file 2:5+4");
  options.look_at_plugins = false;
  CHECK(look("plugins:\n  - path: ./none.so\n").ok());
  std::filesystem::remove_all(folder);
}

TEST_CASE("a resource that cannot be read is told once") {
  LoadResult result = load("auth:\n  anonymous: true\n  resourceMetadata: { resource: \"${NOT_SET}\" }\n");
  CHECK(findings(result) == "missing-variable 3:33+12");
  CHECK_FALSE(load("auth: { anonymous: true, resourceMetadata: {} }\n").ok());
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
  CHECK(result.report(false).find("Write https://") != std::string::npos);
}
