// Names and URIs in messages (proxy/aggregate/name_map.h): there and back, and every other byte as it came.
#include "proxy/aggregate/name_map.h"

#include <catch2/catch.hpp>

#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using namespace lineward::aggregate;
using mcp::Method;
using mcp::parse;

namespace {

const std::vector<std::string> kServers{"fs", "web"};

struct Pair {
  config::Aggregate rules;
  NameMap shown{rules};
  Pair() {
    for (const auto& server : kServers)
      shown.uris.add_server(server);
  }
};

mcp::Message request(const std::string& method, const std::string& params) {
  return parse(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}");
}

std::string sent(Pair& pair, const mcp::Message& message, Method method, const std::string& expected_server) {
  Routed routed = aggregate::route(pair.shown, message, method, kServers, false);
  CHECK(routed.fault == Fault::none);
  CHECK(routed.route.server == expected_server);
  return request_for_server(message, method, routed.route).value_or("");
}

std::string shown_items(Pair& pair, List list, const std::string& server, const std::string& items) {
  const std::string text = "[ " + items + "]";
  std::string out;
  for_each_item(text, {0, static_cast<uint32_t>(text.size())}, list,
                [&](const ListItem& item) { add_for_client(pair.shown, list, server, text, item, out); });
  return out;
}

}  // namespace

TEST_CASE("items of lists, with their unknown fields byte for byte") {
  Pair pair;
  CHECK(shown_items(
            pair, List::tools, "fs",
            R"({ "x": 1.0, "name" : "re\u0061d", "_meta":{"ui":{"resourceUri":"memo://v"},"k":[]} })") ==
        R"({ "x": 1.0, "name" : "fs__read", "_meta":{"ui":{"resourceUri":"fs+memo://v"},"k":[]} })");
  CHECK(shown_items(pair, List::tools, "fs", R"({"name":"v","_meta":{"ui":{"resourceUri":"ui://v"}}})") ==
        R"({"name":"fs__v","_meta":{"ui":{"resourceUri":"ui://v"}}})");
  CHECK(shown_items(pair, List::prompts, "web", R"({"name":"p","arguments":[{"name":"p"}]})") ==
        R"({"name":"web__p","arguments":[{"name":"p"}]})");
  CHECK(shown_items(pair, List::resources, "fs", R"({"uri":"file:///a","name":"file:///a"})") ==
        R"({"uri":"fs+file:///a","name":"file:///a"})");
  CHECK(shown_items(pair, List::templates, "fs", R"({"uriTemplate":"file:///{path}"})") ==
        R"({"uriTemplate":"fs+file:///{path}"})");
  CHECK(shown_items(pair, List::tools, "fs", R"({"title":"no name"})").empty());
  CHECK(shown_items(pair, List::tools, "fs", "7").empty());
}

TEST_CASE("items are read in any order of their fields, and the first of a name counts") {
  Pair pair;
  CHECK(shown_items(pair, List::tools, "fs",
                    R"({"_meta":{"ui/resourceUri":"memo://v"},"name":"a","name":"b","_meta":{"ui":{}}} , 7,)"
                    R"({"n\u0061me":"c","_meta":null}, {}, {"name":["d"]},["name"],{"name":"e"})") ==
        R"({"_meta":{"ui/resourceUri":"fs+memo://v"},"name":"fs__a","name":"b","_meta":{"ui":{}}},)"
        R"({"n\u0061me":"fs__c","_meta":null},{"name":"fs__e"})");
  CHECK(shown_items(pair, List::tools, "fs", "").empty());
  std::vector<std::string> own;
  const std::string text = R"(["x", {"uri":"a:\n"}, {"uri":7}])";
  for_each_item(text, {0, static_cast<uint32_t>(text.size())}, List::resources,
                [&](const ListItem& item) { own.push_back(item.own); });
  CHECK(own == std::vector<std::string>{"", "a:\n", ""});
  own.clear();
  for_each_item("{}", {0, 2}, List::tools, [&](const ListItem& item) { own.push_back(item.own); });
  for_each_item("[]", {0, 0}, List::tools, [&](const ListItem& item) { own.push_back(item.own); });
  CHECK(own.empty());
}

TEST_CASE("requests go to their server under its own names") {
  Pair pair;
  CHECK(
      sent(pair, request("tools/call", R"({ "name":"fs__read", "arguments":{"name":"fs__read"} })"),
           Method::tools_call, "fs") ==
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ "name":"read", "arguments":{"name":"fs__read"} }})");
  CHECK(sent(pair, request("resources/read", R"({"uri":"web+file:///a"})"), Method::resources_read, "web") ==
        R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}})");
  CHECK(
      sent(pair,
           request("completion/complete",
                   R"({"ref":{"type":"ref/prompt","name":"fs__p"},"argument":{"name":"fs__p"}})"),
           Method::completion_complete, "fs") ==
      R"({"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"fs__p"}}})");
  CHECK(
      sent(pair, request("completion/complete", R"({"ref":{"type":"ref/resource","uri":"fs+file:///{p}"}})"),
           Method::completion_complete, "fs") ==
      R"({"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///{p}"}}})");
  CHECK(sent(pair, request("tasks/get", R"({"taskId":"web:7"})"), Method::tasks_get, "web") ==
        R"({"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"7"}})");
}

TEST_CASE("a request that names no server is not routed") {
  Pair pair;
  auto fault = [&](const mcp::Message& message, Method method, bool lists_read = false) {
    return aggregate::route(pair.shown, message, method, kServers, lists_read).fault;
  };
  CHECK(fault(request("tools/call", R"({"name":"read"})"), Method::tools_call) == Fault::unknown);
  CHECK(fault(request("tools/call", R"({"name":7})"), Method::tools_call) == Fault::unknown);
  CHECK(fault(request("tools/call", "{}"), Method::tools_call) == Fault::unknown);
  CHECK(fault(request("resources/read", R"({"uri":"file:///a"})"), Method::resources_read) == Fault::unknown);
  CHECK(fault(request("resources/read", R"({"uri":"https://x/y"})"), Method::resources_read) ==
        Fault::needs_lists);
  CHECK(fault(request("resources/read", R"({"uri":"https://x/y"})"), Method::resources_read, true) ==
        Fault::unknown);
  CHECK(fault(request("tasks/get", R"({"taskId":"7"})"), Method::tasks_get) == Fault::forged);
}

TEST_CASE("results carry the client's URIs") {
  Pair pair;
  auto shown = [&](const std::string& result) {
    auto message = parse(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}");
    const auto changed = result_for_client(pair.shown, "fs", message);
    std::string text = changed ? changed->bytes : message.bytes();
    return text.substr(33, text.size() - 34);
  };
  CHECK(
      shown(
          R"({"content":[{"type":"resource_link","uri":"file:///a"},{"type":"text","uri":"file:///a"},)"
          R"({"type":"resource","resource":{"uri":"file:///b","text":"x"}}],"structuredContent":{"uri":"file:///a"}})") ==
      R"({"content":[{"type":"resource_link","uri":"fs+file:///a"},{"type":"text","uri":"file:///a"},)"
      R"({"type":"resource","resource":{"uri":"fs+file:///b","text":"x"}}],"structuredContent":{"uri":"file:///a"}})");
  CHECK(shown(R"({"contents":[{"uri":"file:///a","text":"1"},{"uri":"ui://x"}]})") ==
        R"({"contents":[{"uri":"fs+file:///a","text":"1"},{"uri":"ui://x"}]})");
  CHECK(
      shown(
          R"({"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"file:///a"}}}]})") ==
      R"({"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"fs+file:///a"}}}]})");
  CHECK(shown(R"({"resultType":"task","taskId":"7","status":"working"})") ==
        R"({"resultType":"task","taskId":"fs:7","status":"working"})");
  CHECK(shown(R"({"content":[], "odd":[1e3]})") == R"({"content":[], "odd":[1e3]})");
}

TEST_CASE("a content block is what its type says, wherever that stands and however deep it is nested") {
  Pair pair;
  auto shown = [&](const std::string& result) {
    const auto message = parse(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}");
    const auto changed = result_for_client(pair.shown, "fs", message);
    std::string text = changed ? changed->bytes : message.bytes();
    const std::string ahead = R"({"jsonrpc":"2.0","id":1,"result":)";
    return text.substr(ahead.size(), text.size() - ahead.size() - 1);
  };
  CHECK(shown(R"({"content":{"uri":"file:///a","type":"resource_link"}})") ==
        R"({"content":{"uri":"fs+file:///a","type":"resource_link"}})");
  CHECK(
      shown(
          R"({"content":[{"content":[{"resource":{"uri":"file:///a"},"type":"resource"}],"type":"tool_result"}]})") ==
      R"({"content":[{"content":[{"resource":{"uri":"fs+file:///a"},"type":"resource"}],"type":"tool_result"}]})");
  const std::string other =
      R"({"content":[{"content":[{"resource":{"uri":"file:///a"},"type":"resource"}],"type":"text"}]})";
  CHECK(shown(other) == other);
  std::string open, close;
  for (int i = 0; i < 40; ++i) {
    open += R"({"content":[)";
    close += R"(],"type":"tool_result"})";
  }
  CHECK(shown(R"({"content":[)" + open + R"({"uri":"file:///a","type":"resource_link"})" + close + "]}") ==
        R"({"content":[)" + open + R"({"uri":"fs+file:///a","type":"resource_link"})" + close + "]}");
}

TEST_CASE("a state goes back to the server that made it, and to no other") {
  Pair pair;
  auto asked =
      parse(R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s\u0031"}})");
  const auto shown = result_for_client(pair.shown, "fs", asked);
  REQUIRE(shown.has_value());
  CHECK(
      shown->bytes ==
      R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"lwa1:fs:s\u0031"}})");
  auto retry = request("tools/call", R"({"name":"fs__x","requestState":"lwa1:fs:s\u0031"})");
  CHECK(request_for_server(retry, Method::tools_call, {"fs", "\"x\""}) ==
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","requestState":"s\u0031"}})");
  CHECK_FALSE(request_for_server(retry, Method::tools_call, {"web", "\"x\""}));
  auto forged = request("tools/call", R"({"name":"fs__x","requestState":"s1"})");
  CHECK_FALSE(request_for_server(forged, Method::tools_call, {"fs", "\"x\""}));
}
