#include "protocol/mcp/targets.h"

#include <catch2/catch.hpp>
#include <string>

using namespace lineward;
using mcp::Method;

namespace {

std::string fault(Method method, const std::string& params) {
  auto message = mcp::Message::parse(R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + params + "}");
  REQUIRE(message);
  return mcp::target_fault(method, *message);
}

}  // namespace

TEST_CASE("what a rule reads of params has no second key that differs in case") {
  for (const char* params : {R"({"ref":{"type":"ref/prompt","name":"a","Name":"b"}})",
                             R"({"ref":{"type":"ref/resource","URI":"b"}})",
                             R"({"ref":{"type":"ref/prompt","name":"a"},"Ref":{}})"})
    CHECK(fault(Method::completion_complete, params).find("in its case alone") != std::string::npos);
  CHECK(fault(Method::completion_complete, R"({"ref":{"name":"a","Title":"b"},"argument":{"Name":1}})")
            .empty());
  CHECK(fault(Method::subscriptions_listen, R"({"notifications":{"ResourceSubscriptions":[]}})")
            .find("resourceSubscriptions") != std::string::npos);
  CHECK(fault(Method::subscriptions_listen, R"({"notifications":{"taskids":[]}})").find("taskIds") !=
        std::string::npos);
  CHECK(fault(Method::subscriptions_listen, R"({"notifications":{"taskIds":[],"x":1}})").empty());
}

TEST_CASE("names and URIs are strings, or not there") {
  for (Method method : {Method::tools_call, Method::prompts_get}) {
    CHECK(fault(method, R"({"name":"x"})").empty());
    CHECK(fault(method, R"({"name":"","uri":1})").empty());
    CHECK(fault(method, "{}").empty());
    for (const char* name : {R"(["delete_all"])", "{}", "null", "1", "true", R"({"toString":"x"})"})
      CHECK(fault(method, std::string(R"({"n\u0061me":)") + name + "}") == "params.name must be a string");
  }
  for (Method method : {Method::resources_read, Method::resources_subscribe, Method::resources_unsubscribe}) {
    CHECK(fault(method, R"({"uri":"a:b","name":1})").empty());
    CHECK(fault(method, R"({"uri":["a:b"]})") == "params.uri must be a string");
    CHECK(fault(method, R"({"uri":null})") == "params.uri must be a string");
  }
  CHECK(fault(Method::tools_list, R"({"name":1,"uri":2,"ref":3})").empty());
  CHECK(fault(Method::other, R"({"name":1})").empty());
}

TEST_CASE("so are those of a reference") {
  const Method complete = Method::completion_complete;
  CHECK(fault(complete, "{}").empty());
  CHECK(fault(complete, R"({"ref":{"type":"ref/prompt","name":"p"},"name":1})").empty());
  CHECK(fault(complete, R"({"ref":{"type":"ref/resource","uri":"a:{b}"}})").empty());
  CHECK(fault(complete, R"({"ref":["ref/prompt"]})") == "params.ref must be an object");
  CHECK(fault(complete, R"({"ref":null})") == "params.ref must be an object");
  CHECK(fault(complete, R"({"ref":{"type":"ref/prompt","name":["p"]}})") ==
        "params.ref.name must be a string");
  CHECK(fault(complete, R"({"ref":{"name":"p","n\u0061me":["q"]}})") == "params.ref.name must be a string");
  CHECK(fault(complete, R"({"ref":{"name":"p"},"ref":{"uri":1}})") == "params.ref.uri must be a string");
  CHECK(fault(complete, R"({"ref":{"type":["ref/prompt"],"name":"p"}})") ==
        "params.ref.type must be a string");
}

TEST_CASE("so are those of a listen, each of them, however often they stand there") {
  const Method listen = Method::subscriptions_listen;
  auto filter = [&](const std::string& members) {
    return fault(listen, R"({"notifications":{)" + members + "}}");
  };
  CHECK(filter("").empty());
  CHECK(filter(R"("resourceSubscriptions":[],"taskIds":["a"],"other":7)").empty());
  CHECK(filter(R"("resourceSubscriptions": [ "a:b" , "" ])").empty());
  for (const char* value : {R"("a:b")", R"({"0":"a:b"})", "null", "5", "true", R"(["a:b",5])", R"([["a:b"]])",
                            R"([{"uri":"a:b"}])", "[null]"}) {
    for (const std::string key : {"resourceSubscriptions", "taskIds"}) {
      const std::string said = "params.notifications." + key + " must be an array of strings";
      CHECK(filter("\"" + key + "\":" + value) == said);
      CHECK(filter("\"" + key + "\":" + value + ",\"" + key + "\":[]") == said);
      CHECK(filter("\"" + key + "\":[],\"" + key + "\":" + value) == said);
    }
  }
}

TEST_CASE("what is kept of a request is bounded, each with its limit in the words") {
  auto size = [](Method method, const std::string& params) {
    auto message = mcp::Message::parse(R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + params + "}");
    REQUIRE(message);
    return mcp::size_fault(method, *message);
  };
  auto uri = [](size_t bytes) { return R"({"uri":")" + std::string(bytes, 'u') + "\"}"; };
  CHECK(size(Method::resources_subscribe, uri(mcp::kMaxUriBytes)).empty());
  CHECK(size(Method::resources_subscribe, uri(mcp::kMaxUriBytes + 1)).find("4096") != std::string::npos);
  CHECK(size(Method::resources_unsubscribe, uri(mcp::kMaxUriBytes + 1)).find("4096") != std::string::npos);
  CHECK(size(Method::resources_read, uri(mcp::kMaxUriBytes + 1)).empty());
  // As it is unescaped.
  std::string escaped;
  for (size_t i = 0; i < mcp::kMaxUriBytes; ++i)
    escaped += "\\u0061";
  CHECK(size(Method::resources_subscribe, R"({"uri":")" + escaped + "\"}").empty());
  CHECK_FALSE(size(Method::resources_subscribe, R"({"uri":"a)" + escaped + "\"}").empty());
  auto listen = [](const std::string& uris) {
    return R"({"notifications":{"resourceSubscriptions":[)" + uris + "]}}";
  };
  const std::string longest = '"' + std::string(mcp::kMaxUriBytes, 'u') + '"';
  CHECK(size(Method::subscriptions_listen, listen(longest + "," + longest)).empty());
  CHECK_FALSE(size(Method::subscriptions_listen, listen(R"("a","u)" + longest.substr(1))).empty());
  std::string many = longest;
  while (many.size() <= mcp::kMaxListenBytes)
    many += "," + longest;
  CHECK(size(Method::subscriptions_listen, listen(many)).find("1048576") != std::string::npos);
  auto text = [](size_t bytes) { return R"({"clientInfo":")" + std::string(bytes, 'c') + "\"}"; };
  CHECK(size(Method::initialize, text(mcp::kMaxInitializeBytes - 17)).empty());
  CHECK(size(Method::initialize, text(mcp::kMaxInitializeBytes)).find("262144") != std::string::npos);
  auto token = [](size_t bytes) {
    return R"({"_meta":{"progressToken":")" + std::string(bytes, 't') + "\"}}";
  };
  CHECK(size(Method::tools_call, token(1022)).empty());
  CHECK(size(Method::tools_call, token(1023)).find("1024") != std::string::npos);
}

TEST_CASE("what is asked again is made of what was kept alone") {
  CHECK(mcp::uri_params("file:///a\"b") == R"({"uri":"file:///a\"b"})");
  auto message = mcp::Message::parse(
      R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning","x":1}})");
  CHECK(mcp::level_params(*message) == R"({"level":"warning"})");
}
