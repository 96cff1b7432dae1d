#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "foundation/json/json_document.h"
#include "foundation/json/json_scan.h"
#include "protocol/mcp/tool_schema.h"

using namespace lineward;
using mcp::repaired_schema;

namespace {

// The schema after its repair; it is as it was if nothing had to be changed.
std::string repaired(const std::string& schema) {
  mcp::SchemaBudget budget;
  const std::string out = repaired_schema(schema, budget).text.value_or(schema);
  CHECK(json::validate(out, json::kDepthCeiling) == json::Fault::none);
  return out;
}

std::string note_of(const std::string& schema) {
  mcp::SchemaBudget budget;
  auto result = repaired_schema(schema, budget);
  return result.notes.empty() ? std::string() : result.notes.front();
}

}  // namespace

TEST_CASE("a schema that is as it should be keeps its bytes") {
  for (const char* schema : {
           R"({"type":"object","properties":{}})",
           R"({ "properties" : { "a" : { "type" : [ "string", "null" ] } },  "type" : "\u006fbject" })",
           R"({"type":"object","properties":{"$ref":{"type":"string"}},"required":["$ref"]})",
           R"({"type":"object","properties":{"a":{"default":{"$ref":"#/$defs/A"}}},"$defs":{"A":{}}})",
           R"({"type":"object","properties":{"a":{"const":{"$ref":"#"},"enum":[{"$ref":"#"}]}}})",
       }) {
    INFO(schema);
    mcp::SchemaBudget budget;
    CHECK_FALSE(repaired_schema(schema, budget).text.has_value());
  }
}

TEST_CASE("type and properties are put right, and nothing else") {
  const std::string empty(mcp::kEmptySchema);
  CHECK(repaired("null") == empty);
  CHECK(repaired("true") == empty);
  CHECK(repaired("[]") == empty);
  CHECK(repaired(R"("object")") == empty);
  CHECK(repaired("{}") == R"({"properties":{},"type":"object"})");
  CHECK(repaired(R"({"type":"object"})") == R"({"properties":{},"type":"object"})");
  CHECK(repaired(R"({ "properties": {"a":{}} })") == R"({"type":"object", "properties": {"a":{}} })");
  CHECK(repaired(R"({"type":["object","null"],"properties":null,"x": 1.0})") ==
        R"({"type":"object","properties":{},"x": 1.0})");
  CHECK(repaired(R"({"type":"string","type":"array","properties":[]})") ==
        R"({"type":"object","type":"object","properties":{}})");
  CHECK(repaired(R"({"oneOf":[{"type":"object"}]})") ==
        R"({"properties":{},"type":"object","oneOf":[{"type":"object"}]})");
}

TEST_CASE("local references give way to their targets") {
  CHECK(repaired(
            R"({"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}})") ==
        R"({"type":"object","properties":{"a":{"type":"string"}}})");
  CHECK(repaired(R"({"type":"object","properties":{"a":{"items":{"$ref":"#/definitions/A"}}},)"
                 R"("definitions":{"A":{"$ref":"#/definitions/B"},"B":{"maxLength": 3}}})") ==
        R"({"type":"object","properties":{"a":{"items":{"maxLength":3}}}})");
  // A keyword beside a reference outranks its target.
  CHECK(repaired(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"mine"}},)"
                 R"("$defs":{"A":{"description":"its","type":"string"}}})") ==
        R"({"type":"object","properties":{"a":{"description":"mine","type":"string"}}})");
  // The whole schema is a reference.
  CHECK(repaired(R"({"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"x":{}}}}})") ==
        R"({"type":"object","properties":{"x":{}}})");
  // Escapes: of JSON, of pointers and of URIs.
  CHECK(repaired(R"({"type":"object","properties":{"a":{"\u0024ref":"#/$defs/a~1b%20~0"}},)"
                 R"("$defs":{"a/b ~":{"type":"string"}}})") ==
        R"({"type":"object","properties":{"a":{"type":"string"}}})");
  // To another place than the definitions, as zod-to-json-schema writes them.
  CHECK(repaired(R"({"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}})") ==
        R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}})");
  CHECK(
      repaired(R"({"type":"object","properties":{"b":{"$ref":"#/anyOf/1"}},"anyOf":[{},{"minLength":1}]})") ==
      R"({"type":"object","properties":{"b":{"minLength":1}},"anyOf":[{},{"minLength":1}]})");
  CHECK(repaired(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/T"},"b":{"$ref":"#/$defs/F"}},)"
                 R"("$defs":{"T":true,"F":false}})") ==
        R"({"type":"object","properties":{"a":{},"b":{"not":{}}}})");
  for (const char* keyword : {"allOf", "anyOf", "oneOf", "prefixItems", "items"}) {
    INFO(keyword);
    CHECK(
        repaired(fmt::format(R"({{"type":"object","properties":{{"a":{{"{}":[{{"$ref":"#/$defs/A"}},1]}}}},)"
                             R"("$defs":{{"A":{{"minimum":1}}}}}})",
                             keyword)) ==
        fmt::format(R"({{"type":"object","properties":{{"a":{{"{}":[{{"minimum":1}},1]}}}}}})", keyword));
  }
}

TEST_CASE("a recursive reference becomes an empty schema, and is told") {
  const std::string tree =
      R"({"type":"object","properties":{"t":{"$ref":"#/$defs/T"}},)"
      R"("$defs":{"T":{"type":"object","properties":{"next":{"$ref":"#/$defs/T","title":"n"}}}}})";
  CHECK(repaired(tree) ==
        R"({"type":"object","properties":{"t":{"type":"object","properties":{"next":{"title":"n"}}}}})");
  CHECK(note_of(tree) == "a recursive reference became {}: #/$defs/T");
  CHECK(repaired(R"({"type":"object","properties":{"self":{"$ref":"#"}}})") ==
        R"({"type":"object","properties":{"self":{}}})");
  // In a circle, and to a schema around it.
  CHECK(repaired(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},)"
                 R"("$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}})") ==
        R"({"type":"object","properties":{"a":{}}})");
  CHECK(repaired(R"({"type":"object","properties":{"a":{"items":{"$ref":"#/properties/a"}}}})") ==
        R"({"type":"object","properties":{"a":{"items":{}}}})");
}

TEST_CASE("references to elsewhere and to nothing stay, with the definitions") {
  const std::string remote = R"({"type":"object","properties":{"a":{"$ref":"https://x.test/s.json"}}})";
  CHECK(repaired(remote) == remote);
  CHECK(note_of(remote) == "a reference to elsewhere stays: https://x.test/s.json");
  const std::string dangling =
      R"({"type":"object","properties":{"a":{"$ref":"#/$defs/None"},"b":{"$ref":"#x"}}})";
  CHECK(repaired(dangling) == dangling);
  CHECK(note_of(dangling) == "a reference to nothing stays: #/$defs/None");
  CHECK(repaired(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"other.json"}},)"
                 R"("$defs":{"A":{"type":"string"}}})") ==
        R"({"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"other.json"}},)"
        R"("$defs":{"A":{"type":"string"}}})");
  CHECK(repaired(R"({"type":"object","properties":{"a":{"$ref":5},"b":{"$ref":{"x":1}}}})") ==
        R"({"type":"object","properties":{"a":{"$ref":5},"b":{"$ref":{"x":1}}}})");
}

TEST_CASE("references that double at each step end at a bound, which is named") {
  std::string schema = R"({"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{)";
  for (int i = 0; i < 40; ++i) {
    schema += fmt::format(
        R"("d{}":{{"properties":{{"x":{{"$ref":"#/$defs/d{}"}},"y":{{"$ref":"#/$defs/d{}"}}}}}},)", i, i + 1,
        i + 1);
  }
  schema += R"("d40":{"type":"string"}}})";
  CHECK(repaired(schema) == schema);
  CHECK(note_of(schema) == "its references stay: there are more than 1000");

  std::string large = R"({"type":"object","properties":{)";
  for (int i = 0; i < 200; ++i)
    large += fmt::format(R"("p{}":{{"$ref":"#/$defs/L"}},)", i);
  large += R"("z":{}},"$defs":{"L":{"description":")" + std::string(2000, 'x') + R"("}}})";
  CHECK(repaired(large) == large);
  CHECK(note_of(large) == "its references stay: resolved it would be larger than 262144 bytes");

  std::string deep =
      R"({"$ref":"#/$defs/A","type":"object","properties":{},"$defs":{"A":{"description":"d"}},"not":)";
  for (int i = 0; i < 100; ++i)
    deep += R"({"not":)";
  deep += "{}" + std::string(100, '}') + "}";
  CHECK(repaired(deep) == deep);
  CHECK(note_of(deep) == "its references stay: resolved it would be deeper than 64 levels");
}

TEST_CASE("the schemas of one page share a budget of work") {
  std::string schema =
      R"({"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"description":")" +
      std::string(200000, 'x') + R"("}}})";
  mcp::SchemaBudget budget;
  size_t resolved = 0;
  std::string note;
  for (int i = 0; i < 200; ++i) {
    auto result = repaired_schema(schema, budget);
    resolved += result.text ? 1 : 0;
    if (!result.notes.empty()) note = result.notes.front();
  }
  CHECK(resolved > 10);
  CHECK(resolved < 150);
  CHECK(note == "its references stay: the schemas of this page take more work than 33554432 bytes");
}
