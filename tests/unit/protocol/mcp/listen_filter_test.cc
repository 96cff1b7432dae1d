#include "protocol/mcp/listen_filter.h"

#include <catch2/catch.hpp>
#include <string>

using namespace lineward;
using mcp::ListenFilter;

namespace {

mcp::Message notification(const std::string& method, const std::string& params = "{}") {
  auto message =
      mcp::Message::parse(R"({"jsonrpc":"2.0","method":")" + method + R"(","params":)" + params + "}");
  REQUIRE(message);
  return std::move(*message);
}

const std::string kUpdated = "notifications/resources/updated";

}  // namespace

TEST_CASE("on a listen comes what its filter names") {
  ListenFilter filter(
      R"({ "toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["file:///a", 5, "b\u0063"],)"
      R"( "taskIds": ["t1"] })");
  CHECK(filter.passes(notification("notifications/tools/list_changed")));
  CHECK_FALSE(filter.passes(notification("notifications/prompts/list_changed")));
  CHECK_FALSE(filter.passes(notification("notifications/resources/list_changed")));
  CHECK(filter.passes(notification(kUpdated, R"({"uri":"file:\/\/\/a"})")));
  CHECK(filter.passes(notification(kUpdated, R"({"uri":"bc"})")));
  CHECK_FALSE(filter.passes(notification(kUpdated, R"({"uri":"file:///a/b"})")));
  CHECK_FALSE(filter.passes(notification(kUpdated, R"({"uri":5})")));
  CHECK_FALSE(filter.passes(notification(kUpdated)));
  CHECK(filter.passes(notification("notifications/tasks", R"({"taskId":"t1"})")));
  CHECK(filter.passes(notification("notifications/tasks", R"({"task":{}})")));
  CHECK_FALSE(filter.passes(notification("notifications/tasks", R"({"taskId":"t2"})")));
  CHECK_FALSE(filter.passes(notification("notifications/message")));
  CHECK_FALSE(filter.passes(notification("notifications/of/an/extension")));
  CHECK(ListenFilter(R"({"com.example/weather":{}})").passes(notification("notifications/of/an/extension")));
  CHECK_FALSE(ListenFilter("").passes(notification("notifications/tools/list_changed")));
}

TEST_CASE("an acknowledgement is cut to what was asked for") {
  ListenFilter asked(R"({"toolsListChanged":true,"resourceSubscriptions":["file:///a","file:///b"]})");
  SECTION("nothing is cut where nothing is too much") {
    CHECK_FALSE(asked.cut(R"({"toolsListChanged":true,"resourceSubscriptions":["file:///b"]})"));
    CHECK_FALSE(
        asked.cut(R"({"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":[]})"));
    CHECK_FALSE(asked.cut("{}"));
    CHECK_FALSE(asked.cut(""));
  }
  SECTION("lists, URIs, tasks and kinds of extensions") {
    CHECK(asked.cut(R"({"promptsListChanged":true, "toolsListChanged": true})") ==
          R"({"toolsListChanged":true})");
    CHECK(asked.cut(R"({"resourceSubscriptions":["file:///c", "file:\/\/\/a", 7],"x":{}})") ==
          R"({"resourceSubscriptions":["file:\/\/\/a"]})");
    CHECK(asked.cut(R"({"taskIds":["t"]})") == "{}");
  }
}
