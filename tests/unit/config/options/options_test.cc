#include "config/options/options.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "config/options/names.h"
#include "config/options/options_text.h"
#include "config/options/read_value.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

namespace {

Value parse(const Option& option, std::string_view text) {
  auto value = read_value(option, text);
  REQUIRE(value);
  return *value;
}

// Something in range that is not the default.
Value other_value(const Option& option) {
  Value value;
  switch (option.kind) {
    case Kind::duration: value.duration = milliseconds(option.least + 1); break;
    case Kind::size:
    case Kind::count: value.number = option.least + 1; break;
    case Kind::flag: value.flag = option.fallback == "false"; break;
    case Kind::choice:
      value.number = option.choices.substr(0, option.choices.find('|')) == option.fallback ? 1 : 0;
      break;
    case Kind::text: value.text = "/other"; break;
    case Kind::names:
    case Kind::list: value.list = {"one", "two"}; break;
    case Kind::map: value.map = {{"A", "1"}}; break;
  }
  return value;
}

}  // namespace

TEST_CASE("the table's defaults are those of the structs") {
  const Config config;
  const Server server;
  for (const Option& option : options()) {
    INFO(option.path);
    if (option.kind == Kind::list || option.kind == Kind::map || option.kind == Kind::names) {
      CHECK(option.fallback.empty());
      CHECK(option.shown(config, server).empty());
      continue;
    }
    Config changed;
    Server changed_server;
    Value fallback = parse(option, option.fallback);
    option.set(changed, changed_server, fallback);
    CHECK(option.shown(changed, changed_server) == option.shown(config, server));
    if (option.path != "mcpServers.*.command") CHECK(check_value(option, fallback, option.fallback));
  }
}

TEST_CASE("every option sets one field of its own") {
  for (const Option& option : options()) {
    INFO(option.path);
    Config config;
    Server server;
    option.set(config, server, other_value(option));
    for (const Option& other : options()) {
      INFO(other.path);
      bool same = other.shown(config, server) == other.shown(Config(), Server());
      CHECK(same == (other.path != option.path));
    }
  }
}

TEST_CASE("every option has help, a unique name and a range where it needs one") {
  std::set<std::string> paths, env_names;
  for (const Option& option : options()) {
    INFO(option.path);
    CHECK(paths.insert(std::string(option.path)).second);
    CHECK(option.help.size() > 10);
    CHECK(option.help.back() == '.');
    bool ranged = option.kind == Kind::duration || option.kind == Kind::size || option.kind == Kind::count;
    CHECK((option.most > 0) == ranged);
    if (!option.env_name().empty()) CHECK(env_names.insert(option.env_name()).second);
    CHECK(find_option(option.path) == &option);
    CHECK_FALSE(is_group(option.path));
  }
  // Every member of the structs in config.h; a new one needs a row, and this number.
  CHECK(options().size() >= 56);
}

TEST_CASE("names by rule") {
  CHECK(find_option("listen.idleTimeout")->env_name() == "LINEWARD_LISTEN_IDLE_TIMEOUT");
  CHECK(find_option("log.format")->env_name() == "LINEWARD_LOG_FORMAT");
  CHECK(find_option("listen.allowedHosts")->env_name().empty());
  CHECK(find_option("mcpServers.*.timeouts.request")->env_name().empty());
  CHECK(find_option("mcpServers.*.timeouts.request")->key() == "timeouts.request");
  CHECK(children("shutdown") == std::vector<std::string_view>{"delay", "drain"});
  CHECK(is_group("mcpServers.*.timeouts"));
  CHECK_FALSE(is_group("list"));
}

TEST_CASE("every synonym leads to an option, or to one that is refused by name") {
  for (const char* word :
       {"requestTimeout", "resetTimeoutOnProgress", "maxTotalTimeout", "client_body_timeout",
        "hard-stop-after", "grace_period", "graceTimeOut", "max_pending_requests", "environment"}) {
    INFO(word);
    const Synonym* synonym = find_synonym(word, true);
    REQUIRE(synonym != nullptr);
    CHECK(find_option(synonym->target) != nullptr);
  }
  CHECK(find_synonym("maxconn", true)->target == "mcpServers.*.limits.maxInFlight");
  CHECK(find_synonym("maxconn", false)->target == "listen.maxConnections");
  CHECK(find_synonym("nonsense", true) == nullptr);
}

TEST_CASE("the nearest name") {
  std::vector<std::string_view> names = {"command", "args", "cwd", "timeouts"};
  CHECK(nearest("comand", names) == "command");
  CHECK(nearest("cmomand", names) == "command");
  CHECK(nearest("agrs", names) == "args");
  CHECK(nearest("COMMAND", names) == "command");
  CHECK(nearest("time_outs", names) == "timeouts");
  CHECK(nearest("frobnicate", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest(std::string(100'000, 'a'), names).empty());
}

TEST_CASE("addresses") {
  for (const char* good :
       {"127.0.0.1:8000", ":8000", "[::1]:8000", "localhost:0", "unix:/run/lineward.sock"}) {
    INFO(good);
    CHECK(address_fault(good).empty());
  }
  for (const char* bad : {"", "8000", "127.0.0.1", "::1:8000", "host:", "host:x", "host:65536",
                          "unix:", "unix:relative", "http://x:1", "a b:1", ":-1"}) {
    INFO(bad);
    CHECK_FALSE(address_fault(bad).empty());
  }
}

TEST_CASE("stdio is for clients only") {
  CHECK(address_fault("stdio").empty());
  CHECK(address_fault("8000") == "write host:port, :port, [::1]:port, unix:/path or stdio");
  Value value;
  for (const char* text : {"stdio", "9464"}) {
    value.text = text;
    CHECK(find_option("ops.address")->check(value) == "write host:port, :port, unix:/path or off");
    CHECK(find_option("admin.address")->check(value) == "write unix:/path, host:port, auto or off");
  }
}

TEST_CASE("conf/every-option.yaml is what the table says") {
  std::ifstream file(LINEWARD_SOURCE_DIR "/conf/every-option.yaml");
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE(file.good());
  // Made by: lineward options --format yaml > conf/every-option.yaml
  CHECK(text.str() == options_yaml());
}

TEST_CASE("a file with every option at its default changes nothing") {
  LoadResult result = load(options_yaml());
  REQUIRE(findings(result).empty());
  REQUIRE(result.config.servers.size() == 1);
  for (const Option& option : options()) {
    if (option.path == "mcpServers.*.command" || option.path == "mcpServers.*.args") continue;
    INFO(option.path);
    CHECK(option.shown(result.config, result.config.servers[0]) == option.shown(Config(), Server()));
    CHECK(options_yaml().find(std::string(option.leaf()) + ":") != std::string::npos);
    CHECK(options_help("options").find(option.key()) != std::string::npos);
  }
}

TEST_CASE("help by topic") {
  CHECK(options_help("nonsense").empty());
  for (const std::string& topic : help_topics())
    CHECK_FALSE(options_help(topic).empty());
  CHECK(options_help("timeouts").find("maxDuration (never restarts)") != std::string::npos);
  CHECK(options_help("servers").find("mcpServers.NAME.command") != std::string::npos);
}

TEST_CASE("names of servers as people write them become names here by one rule") {
  using Names = std::vector<std::string>;
  CHECK(server_names({"awslabs.aws-documentation-mcp-server", "My notes", "@scope/x", "fs_1", ". .x. ."}) ==
        Names{"awslabs-aws-documentation-mcp-server", "My-notes", "scope-x", "fs_1", "x"});
  // A good name keeps what it has, wherever the others stand; a server's name does not depend on the order.
  const Names made = server_names({"My notes", "My-notes", "My/notes"});
  const Names turned = server_names({"My/notes", "My-notes", "My notes"});
  CHECK(made[1] == "My-notes");
  CHECK(made == Names{turned[2], turned[1], turned[0]});
  CHECK(made[0] != made[2]);
  CHECK(made[0].substr(0, 9) == "My-notes-");
  CHECK(server_names({"a b", "a b"}) == Names{"a-b", "a-b"});
  for (const std::string& written :
       {std::string(), std::string("日本語"), std::string("/"), std::string(500, 'x'),
        std::string(64, 'y') + "!", std::string("a\0b", 3)}) {
    INFO(written);
    CHECK(is_server_name(server_names({written}).front()));
  }
  CHECK(server_names({"日本語"}) != server_names({"中文"}));
}
