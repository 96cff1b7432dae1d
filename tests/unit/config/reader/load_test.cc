#include "config/reader/load.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "config/options/options.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

namespace {

// A server `s` with these lines; the first one is line 4.
std::string server(const std::string& lines) {
  return "mcpServers:\n  s:\n    command: x\n" + lines;
}

const Diagnostic& only(const LoadResult& result) {
  INFO(result.report(false));
  REQUIRE(result.diagnostics.size() == 1);
  return result.diagnostics[0];
}

}  // namespace

TEST_CASE("every value lands in its field") {
  LoadResult result = load(
      "listen: { address: ':9000', path: /x, allowedHosts: [a, b], idleTimeout: 1m, maxBodyBytes: 1MiB }\n"
      "shutdown: { delay: 5s, drain: 20s }\n"
      "log: { format: json, level: warn }\n"
      "defaults: { timeouts: { request: 30s, maxDuration: 5m }, limits: { maxInFlight: 3 } }\n"
      "mcpServers:\n"
      "  one: { command: npx, args: [-y, 010, no], env: { PORT: 08, ON: on }, cwd: /tmp, protocolEra: "
      "legacy,\n"
      "    isolation: session, timeouts: { request: 2m }, stop: { termGrace: 1s }, cancel: kill, stdout: "
      "strict,\n"
      "    roots: ['file:///srv'], required: true, inheritEnv: false, instances: 2 }\n"
      "  two: { command: uvx, disabled: true }\n");
  REQUIRE(findings(result).empty());
  const Config& config = result.config;
  CHECK(config.listen.address == ":9000");
  CHECK(config.listen.allowed_hosts == std::vector<std::string>{"a", "b"});
  CHECK(config.listen.idle_timeout == 60s);
  CHECK(config.listen.max_body_bytes == 1u << 20);
  CHECK(config.shutdown.drain == 20s);
  CHECK((config.log.format == LogFormat::json && config.log.level == LogLevel::warn));
  REQUIRE(config.servers.size() == 2);
  const Server& one = config.servers[0];
  CHECK(one.name == "one");
  CHECK(one.args == std::vector<std::string>{"-y", "010", "no"});
  CHECK(one.env == std::vector<std::pair<std::string, std::string>>{{"PORT", "08"}, {"ON", "on"}});
  CHECK((one.protocol_era == Era::legacy && one.isolation == Isolation::session));
  CHECK((one.timeouts.request == 2min && one.timeouts.max_duration == 5min && one.limits.max_in_flight == 3));
  CHECK((one.cancel == CancelMode::kill && one.stdout_mode == StdoutMode::strict));
  CHECK((one.required && one.inherit_env.mode == InheritedEnv::Mode::minimal && one.stop.term_grace == 1s &&
         one.instances == 2));
  CHECK((config.servers[1].disabled && config.servers[1].timeouts.request == 30s));
}

TEST_CASE("no server is fine, and so is nothing at all") {
  for (const char* text : {"", "# x\n", "mcpServers:\n", "mcpServers: {}\n", "listen:\ndefaults:\n"}) {
    INFO(text);
    LoadResult result = load(text);
    CHECK(result.ok());
    CHECK(result.config.servers.empty());
  }
}

TEST_CASE("defaults count wherever they stand") {
  LoadResult result = load("mcpServers:\n  s: { command: x }\ndefaults: { restart: { backoff: 1s } }\n");
  REQUIRE(result.ok());
  CHECK(result.config.servers[0].restart.backoff == 1s);
}

TEST_CASE("each finding has its code and its exact place") {
  struct {
    std::string text;
    const char* found;
  } cases[] = {
      {"listn:\n  path: /\n", "unknown-option 1:1+5"},
      {"listen:\n  idle_timeout: 75s\n", "unknown-option 2:3+12"},
      {"listen:\n  idleTimeout: 75\n", "no-unit 2:16+2"},
      {"listen:\n  idleTimeout: soon\n", "wrong-type 2:16+4"},
      {"listen:\n  idleTimeout: \"1ms\"\n", "out-of-range 2:16+5"},
      {"listen:\n  idleTimeout:\n", "wrong-type 2:14+1"},
      {"listen:\n  idleTimeout: [1s]\n", "wrong-type 2:16+1"},
      {"listen:\n  maxFields: 010\n", "wrong-type 2:14+3"},
      {"listen:\n  maxFields: 5\n", "out-of-range 2:14+1"},
      {"listen:\n  maxBodyBytes: 8MB\n", "wrong-type 2:17+3"},
      {"listen:\n  address: 8000\n", "bad-value 2:12+4"},
      {"listen:\n  path: mcp\n", "bad-value 2:9+3"},
      {"ops:\n  address: stdio\n", "bad-value 2:12+5"},
      {"ops:\n  address: 9464\n", "bad-value 2:12+4"},
      {"listen:\n  allowedHosts: a\n", "wrong-type 2:17+1"},
      {"listen:\n  allowedHosts: [a, [b]]\n", "wrong-type 2:21+1"},
      {"listen: 8000\n", "wrong-type 1:9+4"},
      {"listen:\n  trustedProxies: a\n", "wrong-type 2:19+1"},
      {"health: {}\n", "not-built 1:1+6"},
      {"log:\n  format: jsn\n", "unknown-choice 2:11+3"},
      {"plugins: { toolFilter: {} }\n", "wrong-type 1:10+1"},
      {"plugins: [ { toolFilter: { alow: [a] } } ]\n", "unknown-option 1:28+4"},
      {"plugins: [ { toolFilter: { allow: a } } ]\n", "wrong-type 1:35+1"},
      {"plugins: [ { noSuch: {} } ]\n", "unknown-option 1:14+6"},
      {"plugins: [ { toolFilter: {}, servers: [x] } ]\n", "bad-value 1:1+1"},
      {"toolFilter: { allow: [a] }\n", ""},
      {"auth: { toolFilter: {} }\n", "missing-option 1:1+4, unknown-option 1:9+10"},
      {"workers: 2\n", ""},
      {"workers: 1\n", ""},
      {"ops: { address: off }\nadmin: off\n", ""},
      {"ops: { address: ':9464' }\nadmin: { address: 'unix:/run/a.sock' }\n", ""},
      {"ops: on\n", "wrong-type 1:6+2"},
      {"listen: { address: '127.0.0.1:7000' }\nops: { address: ':7000' }\n", "same-address 2:8+7"},
      {"listen: { address: '127.0.0.1:7000' }\nops: off\nadmin: { address: '127.0.0.1:7000' }\n",
       "same-address 3:10+7"},
      {"ops: { address: 'unix:/run/a' }\nadmin: { address: 'unix:/run/a' }\n", "same-address 2:10+7"},
      {"listen: { address: '127.0.0.1:0' }\nops: { address: '127.0.0.1:0' }\n", ""},
      {"admin: { address: '127.0.0.1:9464' }\n", "same-address 1:10+7"},
      {"admin: { address: ':8001' }\n", "open-admin 1:10+7"},
      {"auth: {}\nretry: {}\nhealth: {}\n", "missing-option 1:1+4, not-built 2:1+5, not-built 3:1+6"},
      {"aggregate: { prefix: 'x_' }\n", "bad-value 1:22+4"},
      {"aggregate: { prefixMode: sometimes }\n", "unknown-choice 1:26+9"},
      {"mcpServers:\n  a: { command: x }\n  b: { command: x }\n  a__b: { command: x }\n",
       "prefix-clash 4:3+4"},
      {"mcpServers:\n  a__b: { command: x }\n  a: { command: x }\n", "prefix-clash 2:3+4"},
      {"mcpServers:\n  a__b: { command: x }\n  a: { command: x, disabled: true }\n", ""},
      {"aggregate: { enabled: false }\nmcpServers:\n  a__b: { command: x }\n  a: { command: x }\n", ""},
      {"aggregate: { prefixMode: never }\nmcpServers:\n  a__b: { command: x }\n  a: { command: x }\n", ""},
      {"aggregate: { prefix: '{server}.' }\nmcpServers:\n  a__b: { command: x }\n  a: { command: x }\n", ""},
      {"aggregate: { path: /mcp/a }\nmcpServers:\n  a: { command: x }\n  b: { command: x }\n",
       "bad-value 3:3+1"},
      {"[]\n", "wrong-type 1:1+1"},
      {"just text\n", "wrong-type 1:1+9"},
      {"mcpServers: []\n", "wrong-type 1:13+1"},
      {"mcpServers:\n  s: npx\n", "wrong-type 2:6+3"},
      {"mcpServers:\n  s:\n", "missing-option 2:3+1"},
      {"mcpServers:\n  a b: { command: x }\n", "bad-name 2:3+3"},
      {"mcpServers:\n  s: { command: x }\n  s: { command: y }\n", "duplicate-key 3:3+1"},
      {"mcpServers: { s: { command: x } }\nservers: { s: { command: x } }\n", "duplicate-key 2:12+1"},
      {"defaults: { command: x }\n", "not-inherited 1:13+7"},
      {"defaults: 1\n", "wrong-type 1:11+1"},
      {server("    comand: y\n"), "unknown-option 4:5+6"},
      {server("    disabled: yes\n"), "wrong-type 4:15+3"},
      {server("    env: { A=B: c }\n"), "bad-name 4:12+3"},
      {server("    env: { A: [b] }\n"), "wrong-type 4:15+1"},
      {server("    env: { A: null }\n"), "wrong-type 4:15+4"},
      {server("    env: { A: }\n"), ""},
      {server("    env: [A=b]\n"), "wrong-type 4:10+1"},
      {server("    roots: [/srv]\n"), "bad-value 4:12+1"},
      {server("    timeouts:\n      requestTimeout: 30\n"), "unknown-option 5:7+14, no-unit 5:23+2"},
      {server("    timeouts:\n      request: 11m\n"), "request-beyond-max 5:16+3"},
      {server("    restart: { policy: always }\n"), ""},
      {server("    restart: { policy: never }\n"), "not-built 4:16+6"},
      {server("    tools: { allow: [x] }\n"), ""},
      {server("    tools: { allow: x }\n"), "wrong-type 4:21+1"},
      {server("    tools: { alow: [x] }\n"), "unknown-option 4:14+4"},
      {server("    tools: [x]\n"), "wrong-type 4:12+1"},
      {server("    includeTools: [x]\n"), ""},
      {server("    includeTools: []\n"), "bad-value 4:5+12"},
      {server("    excludeTools: []\n"), ""},
      {server("    options: { toolFilter: { mode: allow, list: [x] } }\n"), ""},
      {server("    options: { toolFilter: { mode: all, list: [x] } }\n"), "wrong-type 4:16+10"},
      {server("    options: { x: 1 }\n"), "unknown-option 4:5+7"},
      {server("    a.b: 1\n"), "unknown-option 4:5+3"},
      {server("    timeout: 60\n"), "no-unit 4:14+2"},
      {server("    timeout: 60s\n"), "unknown-option 4:5+7"},
      {server("    type: ws\n"), "unknown-choice 4:11+2"},
      {server("    envFile: /no/such/file\n"), "missing-file 4:14+13"},
      {server("    cwd: ${NOPE}\n"), "missing-variable 4:10+7"},
      {server("    cwd: ${NO PE}\n"), "bad-variable 4:10+8"},
      {server("    cwd: a${b\n"), "bad-variable 4:10+4"},
      {server("    cwd: ${file:/no/such}\n"), "missing-file 4:10+16"},
      {server("    cwd: $HOME\n"), "bare-variable 4:10+5"},
      {"mcpServers:\n  s: { command: npx -y x }\n", "command-words 2:17+8"},
      {"mcpServers:\n  s: { command: [npx] }\n", "wrong-type 2:17+1"},
      {"mcpServers:\n  s: { url: 'http://h/mcp', headers: { A: b } }\n", ""},
      {"mcpServers:\n  s: { headers: { A: b }, url: 'unix:/run/s', type: streamableHttp }\n", ""},
      {"mcpServers:\n  s: { url: 'http://h/mcp', command: x }\n", "two-servers 2:8+3"},
      {"mcpServers:\n  s: { urls: ['http://h/mcp', { url: 'http://i/mcp', weight: 2, drain: true }] }\n", ""},
      {"mcpServers:\n  s: { urls: 'http://h/mcp' }\n", "missing-option 2:3+1, wrong-type 2:14+14"},
      {"mcpServers:\n  s: { urls: [], command: x }\n", ""},
      {"mcpServers:\n  s: { urls: [] }\n", "missing-option 2:3+1"},
      {"mcpServers:\n  s: { urls: ['http://h/mcp', 'http://h/mcp'] }\n", "duplicate-key 2:31+14"},
      {"mcpServers:\n  s: { urls: ['http://h/mcp'], url: 'http://h/mcp' }\n", "two-servers 2:8+4"},
      {"mcpServers:\n  s: { urls: ['http://h/mcp'], command: x }\n", "two-servers 2:8+4"},
      {"mcpServers:\n  s: { urls: [{ weight: 2 }] }\n", "missing-option 2:3+1, missing-option 2:15+1"},
      {"mcpServers:\n  s: { urls: [{ url: 'http://h/mcp', weight: 0 }] }\n", "out-of-range 2:46+1"},
      {"mcpServers:\n  s: { urls: [{ url: 'http://h/mcp', wait: 0 }] }\n", "unknown-option 2:38+4"},
      {"mcpServers:\n  s: { urls: ['ftp://h/mcp', 'http://h/mcp'] }\n", "bad-value 2:15+13"},
      {"mcpServers:\n  s: { type: http }\n", "missing-option 2:8+4"},
      {"mcpServers:\n  s: { type: stdio, url: 'http://h/mcp' }\n", "missing-option 2:3+1"},
      {"mcpServers:\n  s: { url: 'http://h/mcp', headers: { 'a b': c } }\n", "bad-value 2:38+1"},
      {"mcpServers:\n  s: { url: 'http://h/mcp', headers: { A: \"b\\nC: d\" } }\n", "bad-value 2:38+1"},
      {"mcpServers:\n  s: { url: 'ftp://h/mcp' }\n", "bad-value 2:13+13"},
      {"mcpServers:\n  s: { url: 'http://me:you@h/mcp' }\n", "bad-value 2:13+21"},
      {"mcpServers:\n  s: { type: sse, command: x }\n", "missing-option 2:8+4"},
      {"mcpServers:\n  s: { type: sse, url: 'http://h', protocolEra: modern }\n", "two-eras 2:8+4"},
      {"mcpServers:\n  s: { url: 'http://h/mcp', disabled: true }\n", ""},
  };
  for (const auto& one : cases) {
    INFO(one.text);
    CHECK(findings(load(one.text)) == one.found);
  }
}

TEST_CASE("all errors at once, in the order of the lines") {
  LoadResult result =
      load("log: { level: loud }\nmcpServers:\n  s: { comand: x }\nlisten: { path: x }\nlog: {}\n");
  CHECK(findings(result) ==
        "unknown-choice 1:15+4, missing-option 3:3+1, unknown-option 3:8+6, bad-value 4:17+1, duplicate-key "
        "5:1+3");
}

TEST_CASE("what was probably meant") {
  auto hint = [](const std::string& text) { return load(text).diagnostics.at(0).hint; };
  CHECK(hint("listen: { idle-timeout: 1s }\n") == "did you mean 'idleTimeout'?");
  CHECK(hint("listen: { adress: ':1' }\n") == "did you mean 'address'?");
  CHECK(hint("listen: { keepalive_timeout: 1s }\n") == "did you mean 'idleTimeout'?");
  CHECK(hint("idleTimeout: 1s\n") == "did you mean 'instanceIdle'?");
  CHECK(hint("port: ':1'\n") == "did you mean 'listen.address'?");
  CHECK(hint("requestTimeout: 1s\n") == "did you mean 'defaults.timeouts.request'?");
  CHECK(hint("maxBodyBytes: 1MiB\n") == "it belongs elsewhere: listen.maxBodyBytes");
  CHECK(hint(server("    requestTimeout: 1s\n")) == "did you mean 'timeouts.request'?");
  CHECK(hint(server("    environment: { A: b }\n")) == "did you mean 'env'?");
  CHECK(hint("log: { level: warning }\n") == "did you mean 'warn'?");
  CHECK(hint(server("    enviroment: { A: b }\n")) == "did you mean 'env'?");
  CHECK(hint("cache: {}\n") == "it stands under a server or `defaults:`");
  CHECK(hint("isolation: session\n") == "it stands under a server");
  CHECK(hint("frobnicate: 1\n").empty());
  CHECK(load(server("    timeouts: { requestTimeout: 1s }\n")).diagnostics.at(0).note ==
        "agentgateway calls it requestTimeout; here it is timeouts.request (lineward help timeouts)");
}

TEST_CASE("a number without a unit shows both") {
  LoadResult result = load(server("    timeout: 60\n"));
  const Diagnostic& diagnostic = only(result);
  CHECK(diagnostic.message == "60 has no unit");
  CHECK(diagnostic.hint == "write 60s or 60ms");
  CHECK(diagnostic.note ==
        "client files disagree: ms in Claude Code and Gemini CLI, seconds in Cline and Roo Code; here it is "
        "timeouts.maxDuration");
}

TEST_CASE("variables") {
  Environment environment = {
      {"A", "1"}, {"EMPTY", ""}, {"NEST", "${A}"}, {"HOME", "/home/me"}, {"LINEWARD_INPUT_THE_KEY", "k"}};
  struct {
    const char* text;
    const char* value;
  } cases[] = {{"${A}", "1"},
               {"${env:A}", "1"},
               {"x${A}y${A}", "x1y1"},
               {"${B:-d}", "d"},
               {"${env:B:-d}", "d"},
               {"${B:-}", ""},
               {"${EMPTY}", ""},
               {"${EMPTY:-d}", "d"},
               {"${NEST}", "${A}"},
               {"$${A}", "${A}"},
               {"$$", "$$"},
               {"$5", "$5"},
               {"${userHome}", "/home/me"},
               {"a${/}b${pathSeparator}", "a/b/"},
               {"${input:the-key}", "k"},
               {"${workspaceFolder}/x", "./x"},
               {"${B:-$5 off}", "$5 off"}};
  for (const auto& one : cases) {
    INFO(one.text);
    LoadResult result = load(server("    args: [\"" + std::string(one.text) + "\"]\n"), environment);
    REQUIRE(result.diagnostics.empty());
    CHECK(result.config.servers[0].args.at(0) == one.value);
  }
  CHECK(load("listen: { idleTimeout: \"${T:-2m}\" }\n").config.listen.idle_timeout == 2min);
  LoadResult missing = load(server("    env: { A: \"${input:the-key}\" }\n"));
  CHECK(only(missing).hint == "set LINEWARD_INPUT_THE_KEY");
  CHECK(only(load(server("    cwd: ${NOPE}\n"))).message == "the variable NOPE is not set");
}

TEST_CASE("a variable that only the server's own env has is left to its command") {
  const std::string own =
      server("    env: { TOKEN: s3cr3t }\n    args: [\"-H\", \"A: ${TOKEN}\", \"${env:TOKEN}\"]\n");
  LoadResult left = load(own);
  CHECK(left.ok());
  CHECK(left.config.servers.at(0).args == std::vector<std::string>{"-H", "A: ${TOKEN}", "${env:TOKEN}"});
  CHECK(findings(left) == "left-variable 5:18+13, left-variable 5:33+14");
  CHECK(left.diagnostics.at(0).severity == Severity::info);
  CHECK(left.report(false).find("s3cr3t") == std::string::npos);
  // Lineward's own counts first, a default as well; in whichever order they are written.
  CHECK(load(own, {{"TOKEN", "t"}}).config.servers.at(0).args.at(1) == "A: t");
  CHECK(
      load(server("    args: [\"${TOKEN:-d}\"]\n    env: { TOKEN: x }\n")).config.servers.at(0).args.at(0) ==
      "d");
  CHECK(load(server("    args: [\"${TOKEN}\"]\n    env: { TOKEN: x }\n")).ok());
  // Other places do not replace it, and another server's env does not count.
  for (const char* text : {"    cwd: ${TOKEN}\n    env: { TOKEN: x }\n", "    env: { TOKEN: \"${TOKEN}\" }\n",
                           "    args: [\"${OTHER}\"]\n    env: { TOKEN: x }\n"}) {
    INFO(text);
    CHECK(findings(load(server(text))).rfind("missing-variable", 0) == 0);
  }
  CHECK_FALSE(
      load("mcpServers:\n  a: { command: x, env: { T: y } }\n  b: { command: x, args: [\"${T}\"] }\n").ok());
}

TEST_CASE("what a variable holds never shows in a message") {
  LoadResult result =
      load("listen: { idleTimeout: \"${T}\", maxFields: \"${N}\" }\nlog: { level: \"${T}\" }\n",
           {{"T", "hunter2"}, {"N", "999999"}});
  CHECK(result.diagnostics.size() == 3);
  CHECK(result.report(false).find("hunter2") == std::string::npos);
  CHECK(result.report(false).find("999999") == std::string::npos);
}

TEST_CASE("of a value with a variable the rule that it breaks is told, and nothing of the variable") {
  const char* bad[][2] = {
      {"http://${T}@host/p", "url: a url holds no user; put credentials into headers: Authorization"},
      {"ftp://${T}/p", "url: a url begins with http://, https:// or unix:/"},
  };
  for (const auto& [url, message] : bad) {
    LoadResult result = load(fmt::format("mcpServers:\n  a: {{ url: \"{}\" }}\n", url), {{"T", "hunter2"}});
    CHECK(only(result).message == message);
    CHECK(result.report(false).find("hunter2") == std::string::npos);
  }
}

TEST_CASE("files as values and as environment") {
  std::string base = "lineward_load_test_" + std::to_string(static_cast<unsigned>(Catch::rngSeed()));
  std::string secret = base + ".secret", env_file = base + ".env", bad_env = base + ".bad";
  std::ofstream(secret) << "s3cret\n\n";
  std::ofstream(env_file)
      << "# comment\nA=file\nexport B = 'two words' # note\nC=\"x\\ny\"\nA=later\n\nD=a#b # c\nE=\n";
  std::ofstream(bad_env) << "A=1\nhunter2\n";
  LoadResult result =
      load(server("    envFile: " + env_file + "\n    env: { B: mine, S: '${file:" + secret + "}' }\n"));
  INFO(result.report(false));
  REQUIRE(result.ok());
  CHECK(result.config.servers[0].env ==
        std::vector<std::pair<std::string, std::string>>{
            {"A", "later"}, {"C", "x\ny"}, {"D", "a#b"}, {"E", ""}, {"B", "mine"}, {"S", "s3cret\n"}});
  LoadResult bad = load(server("    envFile: " + bad_env + "\n"));
  CHECK(only(bad).code == "bad-env-file");
  CHECK(only(bad).message == "envFile: line 2 is not NAME=value");
  LoadOptions closed;
  closed.read_files = false;
  CHECK_FALSE(load_text(server("    cwd: '${file:" + secret + "}'\n"), "t.yaml", closed).ok());
  for (const std::string& path : {secret, env_file, bad_env})
    std::remove(path.c_str());
}

TEST_CASE("files of clients") {
  LoadResult result = load(
      "{ \"$schema\": \"x\", \"inputs\": [], \"servers\": { \"a\": { \"type\": \"stdio\", \"command\": "
      "\"npx\",\n"
      "  \"args\": [\"-y\", 1], \"autoApprove\": [], \"alwaysAllow\": [\"x\"], \"trust\": true, "
      "\"sandboxEnabled\": true,\n"
      "  \"dev\": {}, \"oauth\": {}, \"auth\": {}, \"headers\": {}, \"enabled\": false, }, }, }",
      {}, "mcp.json");
  INFO(result.report(false));
  REQUIRE(result.ok());
  CHECK(result.diagnostics.size() == 8);
  for (const Diagnostic& diagnostic : result.diagnostics) {
    CHECK(diagnostic.severity == Severity::info);
    CHECK(diagnostic.code == "ignored-option");
  }
  CHECK(result.config.servers.at(0).disabled);
  CHECK(result.config.servers.at(0).args.at(1) == "1");
  LoadResult sse =
      load("mcpServers: { s: { url: 'http://h', type: sse }, t: { url: 'http://h', type: http } }\n");
  REQUIRE(sse.ok());
  CHECK(sse.config.servers.at(0).type == ServerType::sse);
  CHECK(sse.config.servers.at(1).type == ServerType::http);
}

TEST_CASE("a client's own file: any name will do, and an entry that is wrong takes no other along") {
  const std::string servers =
      "\"mcpServers\": {\n"
      "  \"My notes\": { \"command\": \"x\", \"includeTools\": [\"a\"] },\n"
      "  \"none\": { },\n"
      "  \"both\": { \"command\": \"x\", \"url\": \"http://h\", \"excludeTools\": [\"a\"] },\n"
      "  \"word\": 7,\n"
      "  \"ok\": { \"command\": \"x\" } }";
  LoadResult result = load("{ \"$schema\": \"x\",\n" + servers + " }", {}, "mcp.json");
  INFO(result.report(false));
  REQUIRE(result.ok());
  REQUIRE(result.config.servers.size() == 2);
  CHECK(result.config.servers.at(0).name == "My-notes");
  CHECK(result.config.servers.at(1).name == "ok");
  REQUIRE(result.config.plugins.size() == 1);
  CHECK(result.config.plugins.at(0).servers == std::vector<std::string>{"My-notes"});
  CHECK(result.left_out.size() == 3);
  CHECK(findings(result) == "renamed 3:3+10, missing-option 4:3+6, two-servers 5:29+5, wrong-type 6:11+1");
  CHECK(result.diagnostics.at(0).message == "the server 'My notes' is called 'My-notes' here");
  CHECK(result.diagnostics.at(1).message ==
        "server 'none' has no command and no url; this server is left out");
  // Beside an option of Lineward the file is Lineward's, and YAML is.
  CHECK_FALSE(load("{ \"listen\": {},\n" + servers + " }", {}, "mcp.json").ok());
  CHECK_FALSE(load("mcpServers: { ok: { command: x }, none: {} }\n").ok());
  LoadResult strict = load("mcpServers: { \"My notes\": { command: x } }\n");
  CHECK(strict.diagnostics.at(0).hint == "use 1 to 64 of A-Z a-z 0-9 _ -, as My-notes");
  // No server is left.
  LoadResult nothing = load("{ \"mcpServers\": { \"a\": {} } }", {}, "mcp.json");
  CHECK_FALSE(nothing.ok());
  CHECK(nothing.diagnostics.size() == 2);
}

TEST_CASE("flag before environment before file before default") {
  LoadOptions options;
  options.env = lookup_in(
      {{"LINEWARD_LISTEN_ADDRESS", ":2"}, {"LINEWARD_LISTEN_PATH", "/env"}, {"LINEWARD_LOG_LEVEL", ""}});
  options.settings = {{"listen.address", ":3", "--listen"},
                      {"mcpServers.*.timeouts.request", "9s", "--timeout"}};
  options.servers.emplace_back();
  options.servers[0].name = "extra";
  LoadResult result = load_text(
      "listen: { address: ':1', path: /file }\ndefaults: { timeouts: { maxDuration: 1h } }\n"
      "mcpServers: { s: { command: x } }\n",
      "t.yaml", options);
  REQUIRE(result.ok());
  CHECK(result.config.listen.address == ":3");
  CHECK(result.config.listen.path == "/env");
  CHECK(result.config.log.level == LogLevel::info);
  REQUIRE(result.config.servers.size() == 2);
  for (const Server& one : result.config.servers) {
    CHECK(one.timeouts.request == 9s);
    CHECK(one.timeouts.max_duration == 1h);
  }
}

TEST_CASE("a server of the command line takes all that defaults: say, and its identity from the flags") {
  LoadOptions options;
  options.env = lookup_in({{"TOKEN", "x"}});
  Server given;
  given.name = "extra";
  given.command = "run";
  given.args = {"me"};
  given.cwd = "/";
  given.env = {{"A", "b"}};
  given.inherit_env.mode = InheritedEnv::Mode::all;
  options.servers = {given};
  given = {};
  given.name = "far";
  given.url = "http://h/mcp";
  given.headers = {{"X-A", "b"}};
  options.servers.push_back(given);
  LoadResult result = load_text(
      "defaults:\n"
      "  timeouts: { request: 2s }\n  limits: { maxQueue: 7 }\n  restart: { backoff: 1s }\n"
      "  circuitBreaker: { consecutiveFailures: 9 }\n  pool: { prewarm: 2 }\n  cache: { enabled: true }\n"
      "  rlimit: { openFiles: 99 }\n  errors: { stderr: false }\n  retry: { attempts: 3 }\n"
      "  stop: { termGrace: 1s }\n  sessions: { missing: refuse }\n"
      "mcpServers: { s: { command: x } }\n",
      "t.yaml", options);
  INFO(result.report(false));
  REQUIRE(result.ok());
  REQUIRE(result.config.servers.size() == 3);
  const Config unused;
  for (size_t k : {1, 2}) {
    for (const Option& option : lineward::config::options()) {
      INFO(option.path);
      if (option.inherited())
        CHECK(option.same(unused, result.config.servers[0], unused, result.config.servers[k]));
    }
  }
  const Server &extra = result.config.servers[1], &far = result.config.servers[2];
  CHECK(extra.name == "extra");
  CHECK(extra.command == "run");
  CHECK(extra.args == std::vector<std::string>{"me"});
  CHECK(extra.cwd == "/");
  CHECK(extra.env.size() == 1);
  CHECK(extra.inherit_env.mode == InheritedEnv::Mode::all);
  CHECK(far.url == "http://h/mcp");
  CHECK(far.headers.size() == 1);
}

TEST_CASE("a path is read without the slash at its end") {
  CHECK(load("listen: { path: /mcp/ }\n").config.listen.path == "/mcp");
  CHECK(load("listen: { path: /a/b// }\n").config.listen.path == "/a/b");
  CHECK(load("listen: { path: / }\n").config.listen.path == "/");
  CHECK(load("", {{"LINEWARD_LISTEN_PATH", "/env/"}}).config.listen.path == "/env");
  const std::string two = "mcpServers: { a: { command: x }, b: { command: x } }\n";
  CHECK(load("listen: { path: /mcp/ }\n" + two).config.aggregate_server.name == "/mcp");
  CHECK(load("aggregate: { path: /all/ }\n" + two).config.aggregate_server.name == "/all");
  CHECK_FALSE(load("listen: { path: / }\naggregate: { path: /a/ }\n" + two).ok());
  const std::string sse = "mcpServers: { sse: { command: x }, b: { command: x } }\n";
  CHECK(load("listen: { path: / }\n" + sse).ok());
  CHECK_FALSE(load("listen: { path: /, legacySse: true }\n" + sse).ok());
  CHECK(load("listen: { legacySse: true }\n" + sse).ok());
}

TEST_CASE("credentials go to an authorization server in plain text on this machine alone") {
  const auto with = [](const std::string& url) {
    return load("mcpServers: { s: { url: 'https://h/', clientCredentials: { clientId: a, clientSecret: b, " +
                std::string("issuer: '") + url + "' } } }\n");
  };
  CHECK(with("https://auth.example/").ok());
  CHECK(with("http://127.0.0.1:8080/").ok());
  CHECK(with("http://localhost:8080/").ok());
  for (const char* other : {"http://auth.example/", "http://127.evil.example.com/",
                            "http://127.0.0.1:80@evil.example/", "http://localhost:80@evil.example/"}) {
    INFO(other);
    CHECK_FALSE(with(other).ok());
  }
}

TEST_CASE("faults of the environment name the variable") {
  LoadResult result = load("", {{"LINEWARD_LISTEN_IDLE_TIMEOUT", "75"}, {"LINEWARD_OPS_ADDRESS", "9464"}});
  REQUIRE(result.diagnostics.size() == 2);
  CHECK(result.diagnostics[0].origin == "LINEWARD_LISTEN_IDLE_TIMEOUT");
  CHECK(result.diagnostics[0].message == "LINEWARD_LISTEN_IDLE_TIMEOUT: 75 has no unit");
  CHECK(result.diagnostics[1].code == "bad-value");
  CHECK(load("", {{"LINEWARD_OPS_ADDRESS", "off"}, {"LINEWARD_ADMIN_ADDRESS", "off"}}).ok());
}

TEST_CASE("the shipped files load without a warning") {
  struct {
    const char* file;
    size_t servers;
  } cases[] = {{"lineward.yaml", 0}, {"stdio.yaml", 4}, {"every-option.yaml", 1}, {"mcp.json", 2}};
  for (const auto& one : cases) {
    INFO(one.file);
    LoadResult result = load_file(std::string(LINEWARD_SOURCE_DIR "/conf/") + one.file, {});
    INFO(result.report(false));
    CHECK(result.ok());
    CHECK_FALSE(result.has(Severity::warning));
    CHECK(result.config.servers.size() == one.servers);
  }
}

TEST_CASE("files that cannot be read") {
  LoadResult missing = load_file("/no/such/lineward.yaml", {});
  CHECK(missing.unreadable);
  CHECK_FALSE(missing.not_permitted);
  CHECK(only(missing).message == "cannot read /no/such/lineward.yaml: No such file or directory");
  CHECK(load_file("/", {}).unreadable);
}

TEST_CASE("very many servers") {
  std::string text = "mcpServers:\n";
  for (int i = 0; i < 1005; ++i)
    text += "  s" + std::to_string(i) + ": { command: x }\n";
  CHECK(findings(load(text)) == "too-many 1002:3+5");
}

TEST_CASE("types of servers by all their names") {
  auto type = [](const std::string& word) {
    return load("mcpServers: { s: { url: 'http://h', disabled: true, " + word + " } }\n")
        .config.servers.at(0)
        .type;
  };
  for (const char* word : {"http", "streamable-http", "streamableHttp", "streamable_http"}) {
    CHECK(type("type: " + std::string(word)) == ServerType::http);
    CHECK(type("transportType: " + std::string(word)) == ServerType::http);
  }
  CHECK(type("type: sse") == ServerType::sse);
  CHECK(type("type: stdio") == ServerType::stdio);
  CHECK(type("required: false") == ServerType::automatic);
}
