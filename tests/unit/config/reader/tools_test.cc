#include <catch2/catch.hpp>

#include "config/reader/changes.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using testing::load;

namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("what stands beside a server about its tools becomes its own toolFilter") {
  LoadResult result = load(
      "plugins:\n  - rateLimit: { requests: 1 }\n"
      "mcpServers:\n"
      "  a: { command: x, includeTools: [r*], excludeTools: [rx], tools: { deny: [ry], overrides: {} } }\n"
      "  b: { command: x }\n"
      "  c: { command: x, options: { toolFilter: { mode: block, list: [d] } } }\n");
  REQUIRE(result.ok());
  const auto& plugins = result.config.plugins;
  REQUIRE(plugins.size() == 3);
  CHECK(plugins[0].type == "rateLimit");
  CHECK(plugins[1].type == "toolFilter");
  CHECK(plugins[1].name == "tools.a");
  CHECK(plugins[1].servers == Names{"a"});
  CHECK(plugins[1].values.list("allow") == Names{"r*"});
  CHECK(plugins[1].values.list("deny") == Names{"rx", "ry"});
  CHECK(plugins[1].line == 4);
  CHECK(plugins[2].servers == Names{"c"});
  CHECK(plugins[2].values.list("allow").empty());
  CHECK(plugins[2].values.list("deny") == Names{"d"});
}

TEST_CASE("a reload notices another list of tools, and only that") {
  auto loaded = [](const std::string& tools) {
    return load("mcpServers: { a: { command: x, tools: { allow: [" + tools + "] } } }\n").config;
  };
  Changes changes = compare(loaded("x"), loaded("y"));
  CHECK(changes.servers.empty());
  REQUIRE(changes.settings.size() == 1);
  CHECK(changes.settings[0].path == "plugins");
  CHECK_FALSE(changes.settings[0].needs_restart);
  CHECK(compare(loaded("x"), loaded("x")).none());
}
