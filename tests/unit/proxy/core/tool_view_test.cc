#include <catch2/catch.hpp>
#include <string>

#include "config/tools_view.h"
#include "proxy/core/tool_view.h"

using namespace lineward;
using config::ToolsOnly;

namespace {

mcp::Message message(const std::string& text) {
  auto parsed = mcp::Message::parse(text);
  REQUIRE(parsed);
  return std::move(*parsed);
}

std::string list_of(const config::Server& server, const std::string& tools) {
  mcp::Message list =
      message(R"({"jsonrpc":"2.0","id":1,"result":{"ttlMs":1e1, "tools":)" + tools + R"(,"x": 1.0}})");
  core::show_tools(server, list);
  return std::string(list.raw(mcp::Field::result_tools));
}

config::ShownTool shown(std::string tool, std::optional<std::string> name) {
  config::ShownTool out;
  out.tool = std::move(tool);
  out.name = std::move(name);
  return out;
}

config::Server renaming() {
  config::Server server;
  server.name = "s";
  server.tools.shown = {shown("create", "add"), shown("one", "two"), shown("two", "one")};
  return server;
}

std::string called(const config::Server& server, const std::string& name) {
  mcp::Message call =
      message(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"x": 1.0},"name":)" +
              name + R"(}})");
  switch (core::to_own_name(server.tools, mcp::Method::tools_call, call)) {
    case core::Naming::same: return "same";
    case core::Naming::unknown: return "unknown";
    case core::Naming::renamed: break;
  }
  return call.bytes();
}

}  // namespace

TEST_CASE("a list without a view keeps its bytes") {
  config::Server server;
  const std::string tools = R"([ {"name":"a"} , {"name":"a"},5 ])";
  CHECK(list_of(server, tools) == tools);
  server.tools.only = ToolsOnly::read_only;
  const std::string all =
      R"([ {"name":"a","annotations":{"readOnlyHint":true}} , {"name":"b","annotations":{"readOnlyHint":true}} ])";
  CHECK(list_of(server, all) == all);
}

TEST_CASE("tools that are not in the view leave no trace in the list") {
  config::Server server;
  server.tools.only = ToolsOnly::read_only;
  const std::string reads = R"({"name":"r","annotations":{"readOnlyHint":true}})";
  const std::string more = R"({"name":"q","annotations":{"readOnlyHint":true}})";
  const std::string adds = R"({"name":"n","annotations":{"destructiveHint":false}})";
  const std::string writes = R"({"name":"w"})";
  CHECK(list_of(server, "[" + writes + "]") == "[]");
  CHECK(list_of(server, "[ " + reads + " , " + writes + " ]") == "[ " + reads + " ]");
  CHECK(list_of(server, "[ " + writes + " , " + reads + " ]") == "[ " + reads + " ]");
  CHECK(list_of(server, "[" + writes + "," + adds + "," + reads + "," + writes + "," + adds + ", " + more +
                            "," + adds + "]") == "[" + reads + ", " + more + "]");
  server.tools.only = ToolsOnly::non_destructive;
  CHECK(list_of(server, "[" + writes + "," + adds + "," + reads + "]") == "[" + adds + "," + reads + "]");
  // A name that is listed twice is in no view: a call could mean either.
  CHECK(list_of(server, "[" + reads + "," + more + "," + reads + "]") == "[" + more + "]");
  CHECK(list_of(server, "[5,null,[],\"r\"," + more + "]") == "[" + more + "]");
  CHECK(
      list_of(server,
              R"([{"name":"a","annotations":{"readOnlyHint":true},"description":"x","description":"y"}])") ==
      "[]");
}

TEST_CASE("tools are listed as the configuration shows them, and only these bytes change") {
  config::Server server;
  config::ShownTool tool = shown("cre/ate", "add");
  tool.title = "Add \"one\"";
  tool.description = "Adds.";
  server.tools.shown = {tool};
  CHECK(list_of(server, R"([ { "name" : "cre\u002fate", "description": "old", "x": 1.0 }, {"name":"b"} ])") ==
        R"([ {"title":"Add \"one\"", "name" : "add", "description": "Adds.", "x": 1.0 }, {"name":"b"} ])");
  CHECK(
      list_of(server,
              R"([{"annotations":{"title":"old","readOnlyHint":true},"name":"cre/ate","title":"old"}])") ==
      R"([{"description":"Adds.","annotations":{"title":"Add \"one\"","readOnlyHint":true},"name":"add","title":"Add \"one\""}])");
  // A definition with two descriptions has two meanings.
  CHECK(list_of(server, R"([{"name":"cre/ate","description":"a","description":"b"},{"name":"c"}])") ==
        R"([{"name":"c"}])");
}

TEST_CASE("a tool that has lost its name to a renamed one is not listed") {
  const config::Server server = renaming();
  CHECK(list_of(server, R"([{"name":"create"},{"name":"add"},{"name":"one"},{"name":"two"},{"name":"x"}])") ==
        R"([{"name":"add"},{"name":"two"},{"name":"one"},{"name":"x"}])");
  CHECK(list_of(server, R"([{"name":"add"}])") == "[]");
}

TEST_CASE("a call gets the server's own name") {
  const config::Server server = renaming();
  CHECK(called(server, R"("x")") == "same");
  CHECK(called(server, R"("create")") == "unknown");
  CHECK(called(server, R"("cre\u0061te")") == "unknown");
  CHECK(called(server, "5") == "same");
  const std::string own =
      R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"x": 1.0},"name":"create"}})";
  CHECK(called(server, R"("add")") == own);
  CHECK(called(server, R"("\u0061dd")") == own);
  CHECK(called(server, R"("one")").find(R"("name":"two")") != std::string::npos);
  CHECK(called(server, R"("two")").find(R"("name":"one")") != std::string::npos);
}

TEST_CASE("a reference of a completion that may name a tool is named likewise") {
  const config::Server server = renaming();
  auto completed = [&](const std::string& ref) {
    mcp::Message request =
        message(R"({"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":)" + ref + "}}");
    const core::Naming naming = core::to_own_name(server.tools, mcp::Method::completion_complete, request);
    return naming == core::Naming::unknown ? "unknown" : request.bytes();
  };
  CHECK(completed(R"({"type":"ref/tool","name":"create"})") == "unknown");
  CHECK(completed(R"({"type":"ref/tool","name":"add"})").find(R"("name":"create")") != std::string::npos);
  CHECK(completed(R"({"type":"ref/prompt","name":"create"})").find(R"("name":"create")") !=
        std::string::npos);
}

TEST_CASE("an unknown tool is named as the client named it") {
  const config::Server server = renaming();
  CHECK(core::with_shown_name(server.tools, "Unknown tool: create") == "Unknown tool: add");
  CHECK(core::with_shown_name(server.tools, "Unknown tool: x") == "Unknown tool: x");
  CHECK(core::with_shown_name(server.tools, "create failed") == "create failed");
  CHECK(core::unknown_tool("x").code == -32602);
}

TEST_CASE("schemas in a list are repaired where the configuration says so") {
  config::Server server;
  server.tools.schema = config::ToolSchema::repaired;
  CHECK(
      list_of(
          server,
          R"([{"name":"a"},{"name":"b","inputSchema":{"type":"object","properties":{}}},{"name":"c","inputSchema":{ "type":"object" }}])") ==
      R"([{"inputSchema":{"type":"object","properties":{}},"name":"a"},{"name":"b","inputSchema":{"type":"object","properties":{}}},{"name":"c","inputSchema":{"properties":{}, "type":"object" }}])");
}
