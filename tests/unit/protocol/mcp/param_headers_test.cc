#include "protocol/mcp/param_headers.h"

#include <catch2/catch.hpp>

using namespace lineward::mcp;

namespace {

ParamHeaders params(const std::string& schema) {
  auto read = read_param_headers(schema);
  REQUIRE(read);
  return *read;
}

// A tool with one parameter "v".
std::string one(const std::string& type, const std::string& header) {
  return R"({"type":"object","properties":{"v":{"type":")" + type + R"(","x-mcp-header":)" + header + "}}}";
}

std::string made(const ParamHeaders& of, const std::string& arguments) {
  std::string out;
  for (const auto& [name, value] : make_param_headers(of, arguments))
    out += name + ": " + value + "\n";
  return out;
}

std::string value_of(const std::string& raw, const std::string& type = "string") {
  return made(params(one(type, R"("V")")), R"({"v":)" + raw + "}");
}

bool fits(const std::string& type, const std::string& raw, const HeaderPairs& headers) {
  return param_header_fault(params(one(type, R"("V")")), R"({"v":)" + raw + "}", headers).empty();
}

}  // namespace

TEST_CASE("the specification's example tool") {
  auto of = params(R"({"type":"object","properties":{
      "region":{"type":"string","description":"The region to execute the query in","x-mcp-header":"Region"},
      "query":{"type":"string","description":"The SQL query to execute"}},"required":["region","query"]})");
  REQUIRE(of.size() == 1);
  CHECK(made(of, R"({"region":"us-west1","query":"SELECT * FROM users"})") == "Mcp-Param-Region: us-west1\n");
  CHECK(made(of, R"({"region":null})").empty());
  CHECK(made(of, R"({})").empty());
  CHECK(made(of, "").empty());
  CHECK(made(of, R"({"region":{"a":1}})").empty());
  CHECK(made(of, R"({"region":["a"]})").empty());
}

TEST_CASE("the specification's encoding examples") {
  CHECK(value_of(R"("us-west1")") == "Mcp-Param-V: us-west1\n");
  CHECK(value_of(R"("Hello, 世界")") == "Mcp-Param-V: =?base64?SGVsbG8sIOS4lueVjA==?=\n");
  CHECK(value_of(R"("Hello, \u4e16\u754c")") == "Mcp-Param-V: =?base64?SGVsbG8sIOS4lueVjA==?=\n");
  CHECK(value_of(R"(" padded ")") == "Mcp-Param-V: =?base64?IHBhZGRlZCA=?=\n");
  CHECK(value_of(R"("line1\nline2")") == "Mcp-Param-V: =?base64?bGluZTEKbGluZTI=?=\n");
  CHECK(value_of(R"("=?base64?literal?=")") == "Mcp-Param-V: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=\n");
  CHECK(value_of("42", "integer") == "Mcp-Param-V: 42\n");
  CHECK(value_of("-7", "integer") == "Mcp-Param-V: -7\n");
  CHECK(value_of("42.0", "integer") == "Mcp-Param-V: 42\n");
  CHECK(value_of("4.2e1", "integer") == "Mcp-Param-V: 42\n");
  CHECK(value_of("true", "boolean") == "Mcp-Param-V: true\n");
  CHECK(value_of("false", "boolean") == "Mcp-Param-V: false\n");
  CHECK(value_of("9007199254740991", "integer") == "Mcp-Param-V: 9007199254740991\n");
  CHECK(value_of("9007199254740992", "integer").empty());
  CHECK(value_of("123456789012345678901234567890", "integer").empty());
  CHECK(value_of("1e400", "integer").empty());
}

TEST_CASE("annotations are found along properties alone") {
  auto of = params(R"({"type":"object","properties":{"a":{"type":"object","properties":{
      "b":{"type":"boolean","x-mcp-header":"B"}}},"x-mcp-header":{"type":"string"}},
      "default":{"x-mcp-header":"data"},"examples":[{"x-mcp-header":"data"}]})");
  REQUIRE(of.size() == 1);
  CHECK(made(of, R"({"a":{"b":true}})") == "Mcp-Param-B: true\n");
  CHECK(made(of, R"({"a":3})").empty());
  CHECK(params("{}").empty());
  CHECK(params("true").empty());
  CHECK(params("").empty());
}

TEST_CASE("each constraint on x-mcp-header, broken once") {
  for (
      const std::string& bad : {
          one("string", R"("")"),
          one("string", "1"),
          one("string", "null"),
          one("string", R"("My Region")"),
          one("string", R"("Region:Primary")"),
          one("string", R"("Région")"),
          one("string", R"("Region\t1")"),
          one("string", R"("a\r\nb")"),
          one("object", R"("Data")"),
          one("array", R"("Items")"),
          one("null", R"("Nil")"),
          one("number", R"("N")"),
          std::string(R"({"properties":{"a":{"x-mcp-header":"A"}}})"),
          std::string(R"({"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}})"),
          std::string(R"({"type":"object","x-mcp-header":"Root"})"),
          std::string(
              R"({"properties":{"a":{"type":"string","x-mcp-header":"R"},"b":{"type":"string","x-mcp-header":"R"}}})"),
          std::string(
              R"({"properties":{"a":{"type":"string","x-mcp-header":"MyField"},"b":{"type":"string","x-mcp-header":"myfield"}}})"),
          std::string(
              R"({"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}})"),
          std::string(
              R"({"properties":{"a":{"type":"array","prefixItems":[{"type":"string","x-mcp-header":"A"}]}}})"),
          std::string(R"({"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]})"),
          std::string(R"({"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}})"),
          std::string(R"({"not":{"type":"string","x-mcp-header":"A"}})"),
          std::string(R"({"$defs":{"x":{"type":"string","x-mcp-header":"A"}}})"),
          std::string(R"({"additionalProperties":{"type":"string","x-mcp-header":"A"}})"),
          std::string(R"({"properties":{"a":{"type":"string","x\u002dmcp-header":""}}})"),
      }) {
    INFO(bad);
    CHECK_FALSE(read_param_headers(bad));
  }
  std::string many;
  for (size_t i = 0; i <= kMaxParamHeaders; ++i)
    many += (i ? "," : "") + ("\"p" + std::to_string(i)) + R"(":{"type":"string","x-mcp-header":"H)" +
            std::to_string(i) + "\"}";
  CHECK_FALSE(read_param_headers(R"({"properties":{)" + many + "}}"));
}

TEST_CASE("a call's headers say what its arguments say, or not") {
  CHECK(fits("string", R"("eu")", {{"mcp-param-v", "eu"}}));
  CHECK(fits("string", R"("eu")", {{"Mcp-Param-V", "=?base64?ZXU=?="}}));
  CHECK(fits("string", "null", {}));
  CHECK(fits("string", "null", {{"Mcp-Param-V", "x"}}));
  CHECK(fits("string", "{}", {}));
  CHECK(fits("integer", "42", {{"Mcp-Param-V", "42.0"}}));
  CHECK(fits("integer", "42.0", {{"Mcp-Param-V", "42"}}));
  CHECK(fits("string", R"("")", {{"Mcp-Param-V", ""}}));
  CHECK(fits("string", R"("")",
             {{"Mcp-Param-V",
               "=?base64?"
               "?="}}));
  CHECK_FALSE(fits("string", R"("eu")", {}));
  CHECK_FALSE(fits("string", R"("eu")", {{"Mcp-Param-Other", "eu"}}));
  CHECK_FALSE(fits("string", R"("eu")", {{"Mcp-Param-V", "us"}}));
  CHECK_FALSE(fits("string", R"("eu")", {{"Mcp-Param-V", "EU"}}));
  CHECK_FALSE(fits("string", R"("eu")", {{"Mcp-Param-V", "eu"}, {"mcp-param-v", "eu"}}));
  CHECK_FALSE(fits("string", R"("Hello")", {{"Mcp-Param-V", "=?base64?SGVsbG8?="}}));
  CHECK_FALSE(fits("string", R"("Hello")", {{"Mcp-Param-V", "=?base64?SGVs!!!bG8=?="}}));
  CHECK_FALSE(fits("string", R"("ä")", {{"Mcp-Param-V", "ä"}}));
  CHECK_FALSE(fits("integer", "42", {{"Mcp-Param-V", "0x2a"}}));
  CHECK_FALSE(fits("integer", "42", {{"Mcp-Param-V", "43"}}));
  CHECK_FALSE(fits("boolean", "true", {{"Mcp-Param-V", "True"}}));
}

TEST_CASE("arguments of several parameters are found in one pass, and which of them stands there twice") {
  auto of = params(R"({"properties":{"a":{"type":"string","x-mcp-header":"A","properties":{
      "b":{"type":"integer","x-mcp-header":"B"},"c":{"properties":{"d":{"type":"boolean","x-mcp-header":"D"}}}}},
      "e":{"type":"string","x-mcp-header":"E"}}})");
  REQUIRE(of.size() == 4);
  CHECK(made(of, R"({"e":"1","a":{"x":[{"b":9}],"c":{"d":true},"b":2}})") ==
        "Mcp-Param-B: 2\nMcp-Param-D: true\nMcp-Param-E: 1\n");
  CHECK(made(of, R"({"a":"one"})") == "Mcp-Param-A: one\n");
  CHECK(made(of, R"({"\u0061":{"\u0062":5}})") == "Mcp-Param-B: 5\n");
  CHECK(made(of, R"({"a":[{"b":5}],"b":5})").empty());
  for (const char* once : {"", "{}", R"({"x":1,"x":2})", R"({"a":{"x":1,"x":2,"b":1},"b":2,"d":3})",
                           R"({"a":{"e":1},"e":2,"c":{"d":1,"d":2}})"}) {
    INFO(once);
    CHECK(argument_fault(of, once).empty());
  }
  auto twice = [&](const std::string& arguments) {
    const std::string fault = argument_fault(of, arguments);
    CHECK(param_header_fault(of, arguments, make_param_headers(of, arguments)) == fault);
    return fault;
  };
  CHECK(twice(R"({"e":"1","e":"2"})") == "the argument for Mcp-Param-E stands there twice");
  CHECK(twice(R"({"e":"1","x":1,"\u0065":"1"})") == "the argument for Mcp-Param-E stands there twice");
  CHECK(twice(R"({"e":null,"e":"2"})") == "the argument for Mcp-Param-E stands there twice");
  CHECK(twice(R"({"a":{"b":1,"b":2}})") == "the argument for Mcp-Param-B stands there twice");
  CHECK_FALSE(twice(R"({"a":"one","a":{"b":1}})").empty());
  CHECK(twice(R"({"a":{"c":{"d":true},"c":{}}})") == "the argument for Mcp-Param-D stands there twice");
}

TEST_CASE("the names that lead to a parameter are bounded") {
  std::string name(4000, 'n');
  auto schema = [&](const std::string& inner) {
    return R"({"properties":{")" + name + R"(":{"properties":{")" + inner +
           R"(":{"type":"string","x-mcp-header":"V"}}}}})";
  };
  CHECK(read_param_headers(schema(std::string(96, 'i'))));
  auto longer = read_param_headers(schema(std::string(97, 'i')));
  REQUIRE_FALSE(longer);
  CHECK(longer.error().text.find("4096 bytes") != std::string::npos);
}
