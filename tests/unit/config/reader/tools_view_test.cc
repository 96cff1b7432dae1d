#include <catch2/catch.hpp>
#include <string>

#include "config/call_timeouts.h"
#include "config/reader/load.h"
#include "config/tools_view.h"

using namespace lineward;
using namespace std::chrono_literals;

namespace {

config::LoadResult load(const std::string& tools, const std::string& defaults = {}) {
  config::LoadOptions options;
  options.read_files = false;
  return config::load_text(defaults + "mcpServers:\n  a:\n    command: x\n    tools: " + tools + "\n",
                           "t.yaml", options);
}

std::string report(const std::string& tools) {
  auto result = load(tools);
  return result.ok() ? "fine" : result.report(false);
}

}  // namespace

TEST_CASE("how tools are shown is read beside their limits") {
  auto result = load(
      "{ only: readOnly, schema: repaired, overrides: { z: { title: Z }, "
      "create: { name: add, description: Adds., timeouts: { request: 2m } }, same: { name: same }, "
      "\"cre*\": { timeouts: { request: 3m } } } }");
  INFO(result.report(false));
  REQUIRE(result.ok());
  const config::Server& server = result.config.servers.at(0);
  CHECK(server.tools.only == config::ToolsOnly::read_only);
  CHECK(server.tools.schema == config::ToolSchema::repaired);
  REQUIRE(server.tools.shown.size() == 3);
  CHECK(server.tools.shown[0] == config::ShownTool{"create", "add", std::nullopt, "Adds."});
  CHECK(server.tools.shown[1] == config::ShownTool{"same", std::nullopt, std::nullopt, std::nullopt});
  CHECK(server.tools.shown[2] == config::ShownTool{"z", std::nullopt, "Z", std::nullopt});
  // Entries without limits take no part in the choice of limits.
  REQUIRE(server.tool_timeouts.size() == 2);
  CHECK(config::timeouts_for(server, "tools/call", "create").request == 2min);
  CHECK(config::timeouts_for(server, "tools/call", "creates").request == 3min);
  CHECK(config::own_name(server.tools, "add") == "create");
  CHECK(config::own_name(server.tools, "create") == std::nullopt);
  CHECK(config::own_name(server.tools, "other") == "other");
  CHECK(config::is_name_taken(server.tools, "add"));
  CHECK_FALSE(config::is_name_taken(server.tools, "create"));
}

TEST_CASE("nothing is changed unless the configuration says so") {
  CHECK(load("{ deny: [x] }").config.servers.at(0).tools.is_empty());
  CHECK(load("{ overrides: { a: { timeouts: { request: 1s } } } }").config.servers.at(0).tools.is_empty());
  auto result = load("{ schema: unchanged }", "defaults: { tools: { only: nonDestructive } }\n");
  INFO(result.report(false));
  REQUIRE(result.ok());
  CHECK(result.config.servers.at(0).tools.only == config::ToolsOnly::non_destructive);
}

TEST_CASE("two tools with one name are an error where the file shows it") {
  CHECK(report("{ overrides: { a: { name: x }, b: { name: x } } }").find("are both called 'x'") !=
        std::string::npos);
  CHECK(report("{ overrides: { a: { name: b }, b: { title: B } } }").find("are both called 'b'") !=
        std::string::npos);
  CHECK(report("{ overrides: { b: { timeouts: { request: 1s } }, a: { name: b } } }")
            .find("are both called 'b'") != std::string::npos);
  CHECK(report("{ overrides: { a: { name: b }, b: { name: a } } }") == "fine");
  CHECK(report("{ overrides: { a: { name: b }, \"b*\": { timeouts: { request: 1s } } } }") == "fine");
}

TEST_CASE("mistakes in how tools are shown are named") {
  for (const char* name : {"\"\"", "a b", "a/b", "\"a*\"", "ä"}) {
    INFO(name);
    CHECK(report("{ overrides: { a: { name: " + std::string(name) + " } } }")
              .find("1 to 128 of A-Z a-z 0-9 _ - .") != std::string::npos);
  }
  CHECK(report("{ overrides: { a: { name: " + std::string(129, 'x') + " } } }") != "fine");
  CHECK(report("{ overrides: { a: { name: " + std::string(128, 'x') + " } } }") == "fine");
  CHECK(report("{ overrides: { \"a*\": { name: b } } }").find("is a glob") != std::string::npos);
  CHECK(report("{ overrides: { a: { title: \"\" } } }") != "fine");
  CHECK(report("{ overrides: { a: { description: \"" + std::string(16385, 'x') + "\" } } }") != "fine");
  CHECK(report("{ overrides: { a: { nme: b } } }").find("takes timeouts, name, title and description") !=
        std::string::npos);
  CHECK(report("{ overrides: { a: {} } }") != "fine");
  CHECK(report("{ only: readonly }") != "fine");
  CHECK(report("{ schema: fixed }") != "fine");
  CHECK(report("{ hide: [x] }").find("allow, deny, only, overrides and schema") != std::string::npos);
}
