// Words about the caller in `headers`, `meta` and `env` of a server (docs/identity.md).
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "config/forward_rules.h"
#include "config/identity_words.h"
#include "config/server_environment.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using testing::findings;
using testing::load;

namespace {

std::string http(const std::string& options) {
  return "mcpServers:\n  s: { url: 'http://127.0.0.1:1/mcp', " + options + " }\n";
}
std::string stdio(const std::string& options) {
  return "mcpServers:\n  s: { command: x, " + options + " }\n";
}
const std::string kSubject = "\x01principal.subject\x02";

}  // namespace

TEST_CASE("identity: values with words leave the fixed ones") {
  LoadResult result = load(http("headers: { X-A: '${K}', X-User: 'u ${principal.subject}', X-Groups: "
                                "'${claim:realm.groups}' }, meta: { com.example/user: '${principal.id}', "
                                "com.example/fixed: f }"),
                           {{"K", "${principal.subject}"}});
  REQUIRE(result.ok());
  const Server& server = result.config.servers[0];
  // A variable's value is a text, whatever it looks like.
  CHECK(server.headers == Identity::Map{{"X-A", "${principal.subject}"}});
  CHECK(server.identity.headers == Identity::Map{{"X-User", "u " + kSubject},
                                                 {"X-Groups",
                                                  "\x01"
                                                  "claim:realm.groups\x02"}});
  CHECK(server.identity.meta.size() == 2);
  CHECK(tells_callers(server));
  CHECK(words_of(server).size() == 3);
  CHECK(claims_for_servers(result.config) == std::vector<std::string>{"realm.groups"});
  CHECK_FALSE(tells_callers(load(http("headers: { X-A: b }, meta: { a/b: c }")).config.servers[0]));
}

TEST_CASE("identity: words that are none, and places where they cannot stand") {
  for (const char* word : {"principal", "principal.name", "principal.", "claim:", "claim:.a", "claim:a..b"}) {
    INFO(word);
    CHECK(findings(load(http("headers: { X-A: '${" + std::string(word) + "}' }"))).rfind("unknown-word", 0) ==
          0);
  }
  for (const char* options : {"command: '${principal.subject}'", "command: x, args: ['${principal.subject}']",
                              "command: x, cwd: '${claim:home}'", "url: 'http://${principal.subject}/'",
                              "url: 'http://a/', forwardHeaders: ['${principal.subject}']"}) {
    INFO(options);
    LoadResult result = load("mcpServers:\n  s: { " + std::string(options) + " }\n");
    CHECK(findings(result).find("misplaced-word") != std::string::npos);
    CHECK(result.report(false).find("it can stand in headers, meta and env of a server") !=
          std::string::npos);
  }
  // Marks of words come from words alone.
  CHECK_FALSE(load(http("headers: { X-A: '${K} ${principal.subject}' }"), {{"K", kSubject}}).ok());
  CHECK_FALSE(load(http("headers: { X-A: \"\\x01principal.subject\\x02\" }")).ok());
  CHECK(load(http("headers: { X-A: '$${principal.subject}' }")).config.servers[0].headers[0].second ==
        "${principal.subject}");
}

TEST_CASE("identity: names of headers that cannot have it") {
  for (const char* name : {"Host", "Connection", "Content-Type", "Mcp-Session-Id", "traceparent",
                           "TraceState", "Lineward-Session", "Content_Type", "mcp.session.id"}) {
    INFO(name);
    CHECK_FALSE(load(http("headers: { " + std::string(name) + ": '${principal.subject}' }")).ok());
  }
  for (const char* two :
       {"X-User: a, x-user: '${principal.subject}'", "X_User: '${claim:a}', X-User: '${claim:b}'"}) {
    INFO(two);
    CHECK(findings(load(http("headers: { " + std::string(two) + " }"))).find("duplicate-key") !=
          std::string::npos);
  }
  for (const char* name :
       {"progressToken", "io.modelcontextprotocol/clientInfo", "io.lineward/x", "'a\"b'", "progresstoken",
        "TraceParent", "IO.ModelContextProtocol/clientInfo", "io.LineWard/x"}) {
    INFO(name);
    CHECK_FALSE(load(stdio("meta: { " + std::string(name) + ": '${principal.subject}' }")).ok());
  }
}

TEST_CASE("identity: variables of a process are for a process of one caller") {
  const std::string env = "env: { A: b, USER_ID: '${principal.subject}' }";
  for (const char* isolation : {"principal", "session", "call"}) {
    LoadResult result = load(stdio(env + ", isolation: " + isolation));
    REQUIRE(result.ok());
    CHECK(result.config.servers[0].env == Identity::Map{{"A", "b"}});
    CHECK(result.config.servers[0].identity.env == Identity::Map{{"USER_ID", kSubject}});
  }
  for (const char* isolation : {"auto", "shared"})
    CHECK(findings(load(stdio(env + ", isolation: " + isolation))).rfind("shared-process", 0) == 0);
  CHECK_FALSE(load(stdio(env + ", isolation: principal, pool: { prewarm: 1 }")).ok());
}

TEST_CASE("identity: of a map that stands twice the last one is read, and both are shown") {
  for (const std::string& text :
       {stdio("isolation: principal, env: { A: b }, env: { USER_ID: '${principal.subject}' }"),
        stdio("env: { A: b }, env: { USER_ID: '${principal.subject}' }"), stdio("env: { A: b }, env: 3"),
        stdio("env: { USER_ID: '${principal.subject}' }, env: { A: b }"),
        stdio("env: { USER_ID: '${principal.subject}' }, env: 3"),
        http("headers: { A: b }, headers: { Host: '${principal.subject}' }"),
        http("headers: { Host: '${principal.subject}' }, headers: 3")}) {
    INFO(text);
    CHECK(findings(load(text)).find("duplicate-key") != std::string::npos);
  }
}

TEST_CASE("identity: flags that share a process are checked as the file is") {
  const std::string text = stdio("isolation: principal, env: { A: b, USER_ID: '${principal.subject}' }");
  LoadOptions options;
  options.settings = {{"mcpServers.*.isolation", "shared", "--isolation"}};
  CHECK(findings(load_text(text, "t.yaml", options)) == "shared-process 2:55+7");
  options.settings[0].text = "call";
  CHECK(load_text(text, "t.yaml", options).ok());
  CHECK(load_text(stdio("env: { USER_ID: '${principal.subject}' }"), "t.yaml", options).ok());
}

TEST_CASE("identity: envFile does not set a variable about the caller") {
  const std::string path =
      "lineward_identity_test_" + std::to_string(static_cast<unsigned>(Catch::rngSeed())) + ".env";
  std::ofstream(path) << "USER_ID=root\nA=b\n";
  LoadResult result =
      load(stdio("isolation: principal, env: { USER_ID: '${principal.subject}' }, envFile: " + path));
  std::remove(path.c_str());
  REQUIRE(result.ok());
  CHECK(result.config.servers[0].env == Identity::Map{{"A", "b"}});
}

TEST_CASE("identity: a variable about the caller is never Lineward's own") {
  Server server =
      load(stdio("env: { USER_ID: '${principal.subject}' }, isolation: principal, inheritEnv: true"))
          .config.servers[0];
  const char* own[] = {"USER_ID=root", "PATH=/bin", nullptr};
  CHECK(server_environment(server, own) == std::vector<std::string>{"PATH=/bin"});
  CHECK(server_environment(server, own, {{"USER_ID", "alice"}}) ==
        std::vector<std::string>{"PATH=/bin", "USER_ID=alice"});
}

TEST_CASE("identity: no client's header of these names is forwarded, in no spelling") {
  Server server =
      load(http("forwardHeaders: ['*', X-User, x_user], headers: { X-User: '${principal.subject}' }"))
          .config.servers[0];
  ForwardRules rules(server, false);
  for (const char* name : {"X-User", "x-user", "X_USER", "X.User", "x~user"}) {
    INFO(name);
    CHECK_FALSE(rules.passes(name));
  }
  CHECK(rules.passes("X-Users"));
  CHECK(rules.passes(":" + kSubject));
  CHECK_FALSE(rules.passes(":\x01principal.id\x02"));
}

TEST_CASE("identity: headers of a proxy that names callers are for Lineward alone") {
  LoadResult result = load(
      "auth: { trustedProxy: { networks: [10.0.0.5], scopesHeader: X-Scopes, claims: { groups: X-Groups } } "
      "}\n" +
      http("forwardHeaders: ['*']"));
  REQUIRE(result.ok());
  ForwardRules rules(result.config.servers[0], false);
  for (const char* name : {"X-Forwarded-User", "x_forwarded_user", "X-Proxy-Secret", "X-Scopes", "X-Groups"})
    CHECK_FALSE(rules.passes(name));
  // Servers with a command get no headers: another name of a header is no reason to start them again.
  CHECK(load("auth: { trustedProxy: { networks: [10.0.0.5] } }\n" + stdio("args: [a]"))
            .config.servers[0]
            .identity == Identity{});
  for (const char* bad : {"networks: [a.b]", "secret: short", "claims: { a: 'b c' }",
                          "networks: [10.0.0.5], subjectHeader: 'a:b'"})
    CHECK_FALSE(
        load("auth: { trustedProxy: { " + std::string(bad) + " } }\n" + http("disabled: false")).ok());
  // Another replica may pass the proxy's requests on.
  const std::string replicas =
      "replicas: { keyFile: k, name: a, peers: { a: 'http://a:1', b: 'http://b:1' } }\n";
  CHECK(load(replicas + "auth: { trustedProxy: { networks: [10.0.0.5] } }\n" + http("disabled: false"))
            .report(false)
            .find("cannot tell a proxy by its network") != std::string::npos);
}
