#include "plugins/tools/redact_rules.h"

#include <catch2/catch.hpp>

#include "plugins/tools/redact_places.h"

using namespace lineward;
using namespace lineward::plugins;

namespace {

std::string redacted(const std::string& text, const std::vector<std::string>& pointers,
                     const std::vector<std::string>& patterns = {}, const std::vector<Place>& names = {}) {
  auto rules = RedactRules::make(patterns, "*\\1\"*");
  REQUIRE(rules);
  std::vector<Pointer> parsed;
  for (const auto& one : pointers)
    parsed.push_back(*parse_pointer(one));
  json::Splice splice(text);
  rules->find(text, {0, static_cast<uint32_t>(text.size())}, parsed, splice, names);
  std::string out = splice.apply();
  CHECK(json::validate(out, json::kDepthCeiling) == json::Fault::none);
  return out;
}

const std::string kGone = R"("*\\1\"*")";

}  // namespace

TEST_CASE("pointers name members and elements, and * any of them") {
  CHECK(redacted(R"({"a": 1 , "b":[true,{"c":null}]})", {"/a"}) ==
        "{\"a\": " + kGone + R"( , "b":[true,{"c":null}]})");
  CHECK(redacted(R"({"b":[1,{"c":2},3]})", {"/b/1/c"}) == R"({"b":[1,{"c":)" + kGone + "},3]}");
  CHECK(redacted(R"({"b":[1, 2]})", {"/b/*"}) == R"({"b":[)" + kGone + ", " + kGone + "]}");
  CHECK(redacted(R"({"x":{"k":1},"y":{"k":[{"k":2}]}})", {"/*/k"}) ==
        R"({"x":{"k":)" + kGone + R"(},"y":{"k":)" + kGone + "}}");
  CHECK(redacted(R"({"a/b":1,"m~n":2,"":3})", {"/a~1b", "/m~0n", "/"}) ==
        R"({"a/b":)" + kGone + R"(,"m~n":)" + kGone + R"(,"":)" + kGone + "}");
}

TEST_CASE("keys are compared decoded, and each of those that are there twice counts") {
  CHECK(redacted(R"({"\u0070":1,"p":2,"P":3})", {"/p"}) ==
        R"({"\u0070":)" + kGone + R"(,"p":)" + kGone + R"(,"P":3})");
}

TEST_CASE("values hold brackets and quotes in strings") {
  CHECK(redacted(R"({"a":{"x":"}\"]","y":["{"]},"b":"]"})", {"/a"}) == R"({"a":)" + kGone + R"(,"b":"]"})");
  CHECK(redacted("{\"a\" :\n[ ] ,\"b\": {} }", {"/b"}) == "{\"a\" :\n[ ] ,\"b\": " + kGone + " }");
}

TEST_CASE("patterns match decoded strings and leave the others as they were written") {
  CHECK(redacted(R"(["\u0073k-1","\u00e9","sk-"])", {}, {"sk-[0-9]"}) == "[" + kGone + R"(,"\u00e9","sk-"])");
  CHECK(redacted(R"({"sk-1":"a\nsk-2\"b"})", {}, {"sk-[0-9]"}) == R"({"sk-1":"a\n*\\1\"*\"b"})");
  CHECK(redacted(R"({"a":{"b":"sk-1"}})", {"/a/b"}, {"sk-[0-9]"}) == R"({"a":{"b":)" + kGone + "}}");
}

TEST_CASE("each match of each pattern in one string is replaced") {
  CHECK(redacted(R"(["pk-1 sk-2 pk-3 sk-4","pk-5"])", {}, {"sk-[0-9]", "pk-[0-9]"}) ==
        R"(["*\\1\"* *\\1\"* *\\1\"* *\\1\"*",)" + kGone + "]");
}

TEST_CASE("deep values are walked without recursion") {
  std::string deep = std::string(1000, '[') + "\"sk-1\"" + std::string(1000, ']');
  CHECK(redacted(deep, {"/0/0/0/*/x"}, {"sk-1"}).size() == deep.size() - 6 + kGone.size());
}

TEST_CASE("what is no rule is refused, and says why") {
  CHECK_FALSE(parse_pointer("a"));
  CHECK_FALSE(parse_pointer("/~2"));
  CHECK_FALSE(parse_pointer("/" + std::string(2000, 'a')));
  CHECK_FALSE(RedactRules::make({"("}, "x"));
  CHECK_FALSE(RedactRules::make({"a*"}, "x"));
  CHECK_FALSE(RedactRules::make(std::vector<std::string>(65, "a"), "x"));
}

TEST_CASE("patterns pass over names, and a pointer that leads to one means it") {
  const std::vector<Place> names{{*parse_pointer("/a/[]/name")}, {*parse_pointer("/m/x~1*")}};
  CHECK(redacted(R"({"a":[{"name":"sk-1","b":"sk-1"}],"m":{"x/y":["sk-1"],"x":"sk-1"},"name":"sk-1"})", {},
                 {"sk-[0-9]"}, names) == R"({"a":[{"name":"sk-1","b":)" + kGone +
                                             R"(}],"m":{"x/y":["sk-1"],"x":)" + kGone + R"(},"name":)" +
                                             kGone + "}");
  // An element is one of an array.
  CHECK(redacted(R"({"a":{"b":{"name":"sk-1"}}})", {}, {"sk-[0-9]"}, names) ==
        R"({"a":{"b":{"name":)" + kGone + "}}}");
  CHECK(redacted(R"({"a":[{"name":"sk-1"}]})", {"/a/*/name"}, {"sk-[0-9]"}, names) ==
        R"({"a":[{"name":)" + kGone + "}]}");
  CHECK(redacted(R"({"m":{"x/y":{"z":"sk-1"}}})", {"/m/*/z"}, {"sk-[0-9]"}, names) ==
        R"({"m":{"x/y":{"z":)" + kGone + "}}}");
}

TEST_CASE("of a schema patterns look at its texts alone") {
  const std::vector<Place> names{{*parse_pointer("/s"), Holds::schema}};
  CHECK(redacted(R"({"s":{"$schema":"sk-1","required":["sk-1"],"title":"sk-1","items":[{"const":"sk-1"}]}})",
                 {}, {"sk-[0-9]"}, names) == R"({"s":{"$schema":"sk-1","required":["sk-1"],"title":)" +
                                                 kGone + R"(,"items":[{"const":"sk-1"}]}})");
  CHECK(redacted(R"({"s":{"properties":{"title":{"enum":["sk-1"],"examples":[{"a":"sk-1"}]}}}})", {},
                 {"sk-[0-9]"}, names) ==
        R"({"s":{"properties":{"title":{"enum":["sk-1"],"examples":[{"a":)" + kGone + "}]}}}}");
}

TEST_CASE("an error names versions and URIs, and says other things") {
  CHECK(redacted(R"({"code":1,"message":"sk-1","data":{"supported":["sk-1"],"uri":"sk-1","x":"sk-1",)"
                 R"("elicitations":[{"elicitationId":"sk-1","url":"sk-1","message":"sk-1"}]}})",
                 {}, {"sk-[0-9]"}, names_in_error()) ==
        R"({"code":1,"message":)" + kGone + R"(,"data":{"supported":["sk-1"],"uri":"sk-1","x":)" + kGone +
            R"(,"elicitations":[{"elicitationId":"sk-1","url":"sk-1","message":)" + kGone + "}]}}");
}

TEST_CASE("what is asked instead of an answer, and what is answered to it") {
  CHECK(
      redacted(R"({"requestState":"sk-1","inputRequests":{"a":{"method":"sk-1","params":{"url":"sk-1",)"
               R"("message":"sk-1","messages":[{"role":"sk-1","content":{"type":"sk-1","text":"sk-1"}}]}}}})",
               {}, {"sk-[0-9]"}, names_in_result(mcp::Method::tools_call)) ==
      R"({"requestState":"sk-1","inputRequests":{"a":{"method":"sk-1","params":{"url":"sk-1","message":)" +
          kGone + R"(,"messages":[{"role":"sk-1","content":{"type":"sk-1","text":)" + kGone + "}}]}}}}");
  CHECK(
      redacted(
          R"({"a":{"roots":[{"uri":"sk-1","name":"sk-1"}]},"b":{"action":"sk-1","content":{"name":"sk-1"}}})",
          {}, {"sk-[0-9]"}, *names_in_param("inputResponses").places) ==
      R"({"a":{"roots":[{"uri":"sk-1","name":)" + kGone + R"(}]},"b":{"action":"sk-1","content":{"name":)" +
          kGone + "}}}");
}
