// Output schemas of any shape as old clients read them: an object with one member, `result`.
#include <catch2/catch.hpp>

#include "foundation/json/json_scan.h"
#include "protocol/mcp/output_schema.h"

using lineward::mcp::is_object_schema;
using lineward::mcp::wrapped_schema;

namespace {

std::string around(const std::string& schema, const std::string& dialect = {}) {
  return "{" + dialect + R"("type":"object","properties":{"result":)" + schema +
         R"(},"required":["result"]})";
}

}  // namespace

TEST_CASE("output schema: what old clients read is left alone") {
  CHECK(is_object_schema(R"({"type":"object"})"));
  CHECK(is_object_schema(R"({"$defs":{}, "type" : "obj\u0065ct"})"));
  CHECK_FALSE(is_object_schema(R"({"type":"array"})"));
  CHECK_FALSE(is_object_schema(R"({"type":["object","null"]})"));
  CHECK_FALSE(is_object_schema(R"({"properties":{"type":"object"}})"));
  CHECK_FALSE(is_object_schema(R"({"$ref":"#/$defs/a"})"));
  CHECK_FALSE(is_object_schema("true"));
}

TEST_CASE("output schema: values of every kind become the member result") {
  for (const char* schema :
       {R"({"type":"array","items":{"type":"string"}})", R"({"type":"string"})", "true", "{}",
        R"({ "anyOf" : [ {"type":"object"}, {"type":"null"} ], "maximum": 1e400 })"}) {
    CHECK(wrapped_schema(schema) == around(schema));
  }
}

TEST_CASE("output schema: references move along") {
  CHECK(wrapped_schema(R"({"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#"}}})") ==
        around(R"({"type":"array","items":{"$ref":"#/properties/result/$defs/a"},)"
               R"("$defs":{"a":{"$ref":"#/properties/result"}}})"));
  // Lists of schemas, and names that look like keywords.
  CHECK(
      wrapped_schema(
          R"({"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"const":{"$ref":"#/$defs/a"},"$ref":{"type":"null"}}})") ==
      around(R"({"anyOf":[{"$ref":"#/properties/result/$defs/a"}],)"
             R"("$defs":{"const":{"$ref":"#/properties/result/$defs/a"},"$ref":{"type":"null"}}})"));
  CHECK(wrapped_schema(R"({"type":"array","items":{"$r\u0065f":"#\/$defs\/a%20b"}})") ==
        around(R"({"type":"array","items":{"$r\u0065f":"#/properties/result/$defs/a%20b"}})"));
}

TEST_CASE("output schema: what is no reference into this schema stays") {
  for (
      const std::string schema : {
          R"({"$ref":"https://example.com/schema#/$defs/a"})",
          R"({"$ref":"#anchor","$defs":{"x":{"$anchor":"anchor"}}})",
          R"({"enum":[{"$ref":"#/a"}],"const":{"$ref":"#/a"},"default":{"$ref":"#"},"examples":[{"$ref":"#"}]})",
          R"({"$id":"https://example.com/own","items":{"$ref":"#/$defs/a"}})",
          R"({"items":{"$id":"own","$ref":"#/$defs/a"}})",
          R"({"$ref":7})",
      }) {
    CHECK(wrapped_schema(schema) == around(schema));
  }
}

TEST_CASE("output schema: the dialect is named at the new root") {
  CHECK(wrapped_schema(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"null"})")
            .rfind(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object")", 0) == 0);
}

TEST_CASE("output schema: the deepest message that is taken is wrapped as well") {
  std::string deep;
  for (int i = 0; i < 120; ++i)
    deep += R"({"items":)";
  deep += R"({"$ref":"#/x"})" + std::string(120, '}');
  std::string wrapped = wrapped_schema(deep);
  CHECK(wrapped.find("#/properties/result/x") != std::string::npos);
  CHECK(lineward::json::validate(wrapped) == lineward::json::Fault::none);
}

TEST_CASE("output schema: an identifier is found wherever it stands in its schema, the first one counts") {
  for (const std::string schema : {
           R"({"items":{"$ref":"#/a","anyOf":[{"$ref":"#/b"}],"$id":"own"}})",
           R"({"items":{"$ref":"#/a","$id":"own","$id":7}})",
       }) {
    CHECK(wrapped_schema(schema) == around(schema));
  }
  CHECK(wrapped_schema(R"({"items":{"$ref":"#/a","$id":"","$id":"own"},"not":{"$ref":"#"}})") ==
        around(R"({"items":{"$ref":"#/properties/result/a","$id":"","$id":"own"},)"
               R"("not":{"$ref":"#/properties/result"}})"));
}
