#include <catch2/catch.hpp>

#include "config/call_timeouts.h"
#include "config/reader/load.h"
#include "foundation/base/glob.h"

using namespace lineward;
using namespace std::chrono_literals;

namespace {

config::LoadResult load(const std::string& server) {
  config::LoadOptions options;
  options.read_files = false;
  return config::load_text("mcpServers:\n  a:\n    command: x\n" + server, "t.yaml", options);
}

}  // namespace

TEST_CASE("limits by method and by tool are read in their order") {
  auto result = load(
      "    methods: { \"resources/*\": { timeouts: { request: 5s } } }\n"
      "    tools:\n"
      "      overrides:\n"
      "        \"slow_*\": { timeouts: { request: 2m, maxDuration: 1h } }\n"
      "        \"*\": { timeouts: { progressResets: false } }\n");
  INFO(result.report(false));
  REQUIRE(result.ok());
  const config::Server& server = result.config.servers.at(0);
  REQUIRE(server.method_timeouts.size() == 1);
  CHECK(server.method_timeouts[0].pattern == "resources/*");
  CHECK(server.method_timeouts[0].request == 5s);
  CHECK_FALSE(server.method_timeouts[0].max_duration.has_value());
  REQUIRE(server.tool_timeouts.size() == 2);
  CHECK(server.tool_timeouts[0].request == 2min);
  CHECK(server.tool_timeouts[0].max_duration == 1h);
  CHECK(server.tool_timeouts[1].progress_resets == false);

  // The values for one call: the first match of each list.
  CHECK(config::timeouts_for(server, "tools/list").request == 60s);
  CHECK(config::timeouts_for(server, "resources/subscribe").request == 5s);
  CHECK(config::timeouts_for(server, "tools/call", "slow_one").request == 2min);
  CHECK(config::timeouts_for(server, "tools/call", "slow_one").progress_resets);
  CHECK_FALSE(config::timeouts_for(server, "tools/call", "other").progress_resets);
}

TEST_CASE("mistakes in overrides are named where they stand") {
  CHECK_FALSE(load("    methods: 5\n").ok());
  CHECK_FALSE(load("    methods: { \"a\": { request: 5s } }\n").ok());
  CHECK_FALSE(load("    methods: { \"a\": { timeouts: { request: 5 } } }\n").ok());
  CHECK_FALSE(load("    methods: { \"a\": { timeouts: { startup: 5s } } }\n").ok());
}

TEST_CASE("globs match whole names") {
  using Pair = std::pair<std::string_view, std::string_view>;
  for (const auto& [glob, name] :
       {Pair{"*", ""}, {"a*c", "abbbc"}, {"a?c", "abc"}, {"*_x_*", "a_x_b"}, {"a**b", "ab"}}) {
    INFO(glob << " and " << name);
    CHECK(glob_match(glob, name));
  }
  for (const auto& [glob, name] : {Pair{"a?c", "ac"}, {"abc", "abcd"}, {"*a", "ab"}, {"", "a"}}) {
    INFO(glob << " and " << name);
    CHECK_FALSE(glob_match(glob, name));
  }
}

TEST_CASE("a lone carriage return is refused, and no secret is shown because of it") {
  config::LoadOptions options;
  options.read_files = false;
  auto result = config::load_text(
      "# a\r# b\r# c\nmcpServers:\n  x:\n    command: cat\n    bogus: 1\n    env:\n      TOKEN: "
      "s3cr3tvalue\n    args: []\n",
      "t.yaml", options);
  REQUIRE_FALSE(result.ok());
  CHECK(result.report(false).find("s3cr3tvalue") == std::string::npos);
}
