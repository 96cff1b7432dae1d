#include "config/reader/changes.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "config/options/options.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

namespace {

Config parsed(const std::string& text, Environment environment = {}) {
  LoadResult result = load(text, std::move(environment));
  INFO(result.report(false));
  REQUIRE(result.ok());
  return result.config;
}

// "~name: what, what; +name: new": ~ adjusted, * replaced, then settings, ! for those that need a restart.
std::string shown(const Changes& changes) {
  std::string out;
  for (const ServerChange& one : changes.servers) {
    static constexpr char kMarks[] = {'+', '-', '~', '*'};
    out += (out.empty() ? "" : "; ") + std::string(1, kMarks[static_cast<size_t>(one.kind)]) + one.name + ":";
    for (const std::string& what : one.what)
      out += " " + what;
  }
  for (const SettingChange& one : changes.settings)
    out += (out.empty() ? "" : "; ") + std::string(one.needs_restart ? "!" : "") + one.what;
  return out;
}

std::string servers(const std::string& now, const std::string& next) {
  return shown(compare(parsed("mcpServers: {" + now + "}"), parsed("mcpServers: {" + next + "}")));
}

}  // namespace

TEST_CASE("servers come, go and change") {
  CHECK(servers("a: {command: x}", "a: {command: x}").empty());
  CHECK(servers("a: {command: x}", "a: {command: x}, b: {command: y}") == "+b: new");
  CHECK(servers("a: {command: x}, b: {command: y}", "a: {command: x}") == "-b: removed");
  CHECK(servers("a: {command: x}, b: {command: y}", "b: {command: y}, a: {command: x}") ==
        "the order of servers changed");
  CHECK(servers("a: {command: x}, b: {command: y, disabled: true}",
                "b: {command: y, disabled: true}, a: {command: x}")
            .empty());
  CHECK(servers("a: {command: x}, b: {command: y}", "c: {command: z}, a: {command: x}") ==
        "+c: new; -b: removed");
  CHECK(servers("a: {command: x}", "a: {command: y}") == "*a: command x → y");
  CHECK(servers("a: {command: x}", "a: {command: x, disabled: true}") == "-a: disabled");
  CHECK(servers("a: {command: x, disabled: true}", "a: {command: y}") == "+a: enabled");
  CHECK(servers("a: {command: x, disabled: true}", "a: {command: y, disabled: true}").empty());
}

TEST_CASE("origins change in place") {
  const std::string one = "a: {urls: ['http://1/mcp', 'http://2/mcp']}";
  CHECK(servers(one, one).empty());
  CHECK(servers(one, "a: {urls: ['http://2/mcp', {url: 'http://1/mcp', drain: true}]}") ==
        "~a: urls changed");
  CHECK(servers(one, "a: {urls: ['http://1/mcp', 'http://2/mcp'], origins: {ejectAfter: 3}}") ==
        "~a: origins.ejectAfter 5 → 3");
  CHECK(servers(one, "a: {url: 'http://1/mcp'}") == "*a: urls changed");
  CHECK(servers("a: {url: 'http://9/mcp'}", one) == "*a: url changed urls changed");
  CHECK(servers(one, "a: {urls: ['http://1/mcp', 'http://2/mcp'], origins: {resolve: 1m}}") ==
        "*a: origins.resolve 0s → 1m");
}

TEST_CASE("limits change in place") {
  CHECK(servers("a: {command: x}", "a: {command: x, timeouts: {request: 2m}, limits: {maxQueue: 1}}") ==
        "~a: timeouts.request 1m → 2m limits.maxQueue 256 → 1");
  CHECK(
      servers("a: {command: x}", "a: {command: x, tools: {overrides: {'b*': {timeouts: {request: 1s}}}}}") ==
      "~a: tools.overrides changed");
  CHECK(servers("a: {command: x}", "a: {command: x, timeouts: {request: 2m}, args: [s3cret]}") ==
        "*a: args changed timeouts.request 1m → 2m");
}

TEST_CASE("what concerns all servers as one, and no server, is a change too") {
  const std::string own =
      "mcpServers: {a: {command: x, timeouts: {request: 1s}}, b: {command: y, timeouts: {request: 1s}}}\n";
  const std::string longer = "defaults: {timeouts: {request: 2m}}\n";
  const Changes changes = compare(parsed(own), parsed(longer + own));
  CHECK(shown(changes) == "timeouts.request 1m → 2m");
  REQUIRE(changes.settings.size() == 1);
  CHECK(changes.settings[0].path == "/mcp");
  CHECK(changes.unchanged == 2);
  CHECK(compare(parsed(longer + own), parsed(longer + own)).none());
  const std::string apart = "aggregate: {enabled: false}\n" + own;
  CHECK(compare(parsed(apart), parsed(longer + apart)).none());
  const std::string one = "mcpServers: {a: {command: x, timeouts: {request: 1s}}}\n";
  CHECK(compare(parsed(one), parsed(longer + one)).none());
}

TEST_CASE("what may be a secret is not shown") {
  std::string text = servers("a: {command: x, env: {T: s3cret, U: '1', V: '1'}}",
                             "a: {command: x, env: {T: 0ther, U: '1', W: '1'}}");
  CHECK(text == "*a: env.T changed, env.W added, env.V removed");
  CHECK(servers("a: {url: 'http://h/?k=s3cret'}", "a: {url: 'http://h/?k=0ther'}") == "*a: url changed");
  CHECK(servers("a: {url: 'http://h/', headers: {Authorization: s3cret}}",
                "a: {url: 'http://h/', headers: {Authorization: 0ther}}") ==
        "*a: headers.Authorization changed");
}

namespace {

// A file that is there as long as this is.
struct File {
  explicit File(const std::string& text) {
    char made[] = "/tmp/lineward-changes-XXXXXX";
    const int fd = mkstemp(made);
    REQUIRE(fd >= 0);
    ::close(fd);
    name = made;
    write(text);
  }
  ~File() { unlink(name.c_str()); }
  void write(const std::string& text) const { std::ofstream(name, std::ios::trunc) << text; }
  std::string name;
};

}  // namespace

TEST_CASE("a certificate or key that alone is another one on disk makes a new server") {
  const File ca("ca"), cert("cert"), key("key"), other("key");
  auto loaded = [&](const File& its_key) {
    Config config = parsed("mcpServers: {a: {url: 'https://h/', caFile: " + ca.name +
                           ", clientCert: " + cert.name + ", clientKey: " + its_key.name + "}}");
    note_files(config);
    return config;
  };
  const Config now = loaded(key);
  CHECK(shown(compare(now, loaded(key))).empty());
  const std::string changed = "*a: a certificate or key changed on disk";
  for (const File* file : {&ca, &cert, &key}) {
    INFO(file->name);
    file->write("other");
    CHECK(shown(compare(now, loaded(key))) == changed);
    file->write(file == &ca ? "ca" : file == &cert ? "cert" : "key");
    CHECK(shown(compare(now, loaded(key))).empty());
  }
  // Another name for the same content is another key too.
  CHECK(shown(compare(now, loaded(other))) == "*a: clientKey changed");
  unlink(key.name.c_str());
  CHECK(shown(compare(now, loaded(key))) == changed);
}

TEST_CASE("settings of the gateway; what cannot be swapped says so and stays") {
  Config now = parsed("listen: {idleTimeout: 75s}");
  Config next = parsed("listen: {idleTimeout: 10s, address: ':9000'}\nops: {address: ':9999'}\n");
  Changes changes = compare(now, next);
  CHECK(shown(changes) ==
        "listen.address 127.0.0.1:8000 → :9000; listen.idleTimeout 1m15s → 10s; "
        "!ops.address 127.0.0.1:9464 → :9999");
  keep_fixed_settings(now, next);
  CHECK(next.ops.address == now.ops.address);
  CHECK(next.listen.address == ":9000");
  now.listen.address = "stdio";
  keep_fixed_settings(now, next);
  CHECK(next.listen.address == "stdio");
}

TEST_CASE(
    "whatever needs a restart stays as it was, so that the next reload of the same file tells of it again") {
  const Config now = parsed("mcpServers: {a: {command: x}}");
  for (const char* setting :
       {"workers: 2", "ops: {address: ':9999'}", "admin: {address: '127.0.0.1:9998'}", "log: {format: json}",
        "watchdog: {warn: 200ms}", "watchdog: {abort: 30s}", "aggregate: {path: /all}",
        "aggregate: {prefix: '{server}-'}", "aggregate: {prefixMode: never}"}) {
    INFO(setting);
    Config next = parsed(std::string(setting) + "\nmcpServers: {a: {command: x}}");
    const Changes changes = compare(now, next);
    REQUIRE(changes.settings.size() == 1);
    CHECK(changes.settings[0].needs_restart);
    keep_fixed_settings(now, next);
    CHECK(shown(compare(now, next)).empty());
  }
}

TEST_CASE("what is called adjustable is an option of a server") {
  size_t adjustable = 0;
  for (const Option& option : options()) {
    if (option.per_server() && is_adjustable(option.key())) ++adjustable;
  }
  CHECK(adjustable == 58);
}
