#include "protocol/mcp/input_required.h"

#include <catch2/catch.hpp>

#include "unit/protocol/mcp/parse.h"

using namespace lineward::mcp;

namespace {

std::string salient(const std::string& params) {
  return salient_params(parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + params + "}"));
}

}  // namespace

TEST_CASE("a question as an input request: its bytes, without the elicitationId") {
  CHECK(input_request(parse(R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})")) ==
        R"({"method":"roots/list"})");
  CHECK(input_request(parse(
            R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"n": 1.0,"mode":"form"}})")) ==
        R"({"method":"elicitation/create","params":{"n": 1.0,"mode":"form"}})");
  CHECK(input_request(parse(R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create",)"
                            R"("params":{"mode":"url","elicitationId":"e","url":"u"}})")) ==
        R"({"method":"elicitation/create","params":{"mode":"url","url":"u"}})");
}

TEST_CASE("the answer that asks") {
  CHECK(input_required_answer("1.0", {{R"("a")", R"({"method":"roots/list"})"}}, "s", R"({"name":"n"})") ==
        R"({"jsonrpc":"2.0","id":1.0,"result":{"resultType":"input_required",)"
        R"("inputRequests":{"a":{"method":"roots/list"}},"requestState":"s",)"
        R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"}}}})");
}

TEST_CASE("what a retry must repeat") {
  CHECK(
      salient(R"({"name":"a","arguments":{"x": 1}})") ==
      salient(
          R"({ "arguments" : {"x":1}, "_meta":{"a":1}, "name":"a", "requestState":"s", "inputResponses":{} })"));
  CHECK(salient(R"({"name":"a"})") != salient(R"({"name":"b"})"));
  CHECK(salient(R"({"name":"a b"})") != salient(R"({"name":"ab"})"));
  CHECK(salient(R"({"name":"a","arguments":{"x":1}})") != salient(R"({"name":"a","arguments":{"x":1.0}})"));
  CHECK(salient(R"({"name":"a"})") != salient(R"({"name":"a","arguments":{}})"));
}

TEST_CASE("the URLs of an error -32042") {
  auto error = [](const std::string& data) {
    return url_elicitations(
        parse(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":)" + data + "}}"));
  };
  auto two = error(R"({"elicitations":[{"mode":"url","elicitationId":"1","url":"u","message":"m"},)"
                   R"({"mode":"form"},{"mode":"url","url":"v","message":"m"}]})");
  REQUIRE(two.size() == 2);
  CHECK(two[0].key == R"("url-1")");
  CHECK(two[0].request ==
        R"({"method":"elicitation/create","params":{"mode":"url","url":"u","message":"m"}})");
  CHECK(two[1].key == R"("url-2")");
  CHECK(error("null").empty());
  CHECK(error("{}").empty());
  CHECK(error(R"({"elicitations":[1]})").empty());
}
