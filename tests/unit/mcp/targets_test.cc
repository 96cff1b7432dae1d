#include "mcp/targets.h"

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
