#include "protocol/mcp/client_capabilities.h"

#include <catch2/catch.hpp>

using namespace lineward::mcp;

namespace {

Message question(const std::string& method, const std::string& params) {
  auto message =
      Message::parse(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}");
  REQUIRE(message.has_value());
  return std::move(*message);
}

}  // namespace

TEST_CASE("a modern declaration in the shape of the old revisions") {
  struct Row {
    const char* declared;
    const char* legacy;
    bool asked;
  };
  const Row rows[] = {
      {"", "{}", false},
      {"{}", "{}", false},
      {"null", "{}", false},
      {R"({"elicitation":{}})", R"({"elicitation":{}})", true},
      {R"({ "roots" : { "listChanged" : true }, "elicitation" : { "url" : {}, "x" : 1 } })",
       R"({"elicitation":{"url":{}},"roots":{}})", true},
      {R"({"sampling":{"tools":{"a b": "c d"},"context":{},"other":{}}})",
       R"({"sampling":{"context":{},"tools":{"a b":"c d"}}})", true},
      {R"({"tasks":{"list":{}},"vendor":{}})", "{}", false},
      {R"({"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}},"experimental":{"x":{}}})",
       R"({"experimental":{"x":{}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}}})", false},
      {R"({"elicitation":true,"sampling":null})", "{}", false},
      {R"({"\u0072oots":{}})", R"({"roots":{}})", true},
  };
  for (const Row& row : rows) {
    INFO(row.declared);
    auto legacy = legacy_capabilities(row.declared);
    CHECK(legacy.object == row.legacy);
    CHECK(legacy.may_be_asked == row.asked);
  }
}

TEST_CASE("which questions a declaration covers") {
  auto form = question("elicitation/create", R"({"message":"m","requestedSchema":{}})");
  auto url = question("elicitation/create", R"({"mode":"url","url":"https://example.com"})");
  auto plain = question("sampling/createMessage", R"({"messages":[]})");
  auto tools = question("sampling/createMessage", R"({"messages":[],"tools":[]})");
  auto roots = question("roots/list", "{}");
  CHECK(declares(R"({"elicitation":{}})", form));
  CHECK_FALSE(declares(R"({"elicitation":{}})", url));
  CHECK(declares(R"({"elicitation":{"form":{}}})", form));
  CHECK_FALSE(declares(R"({"elicitation":{"url":{}}})", form));
  CHECK(declares(R"({"elicitation":{"url":{}}})", url));
  CHECK(declares(R"({"sampling":{}})", plain));
  CHECK_FALSE(declares(R"({"sampling":{}})", tools));
  CHECK(declares(R"({"sampling":{"tools":{}}})", tools));
  CHECK(declares(R"({"roots":{}})", roots));
  CHECK_FALSE(declares("{}", roots));
  CHECK_FALSE(declares("", roots));
  CHECK_FALSE(declares(R"({"elicitation":{}})", question("vendor/ask", "{}")));
}

TEST_CASE("whether a declaration covers any question") {
  for (const char* some : {R"({"elicitation":{}})", R"({"sampling":{"tools":{}}})", R"({"x":1,"roots":{}})"})
    CHECK(declares_any(some));
  for (const char* none : {"", "{}", R"({"experimental":{"elicitation":{}}})"})
    CHECK_FALSE(declares_any(none));
}
