#include "operate/mcp_client/arguments.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::mcp_client;
using nlohmann::json;

namespace {

const json kSchema = json::parse(R"({
  "type": "object",
  "properties": {
    "n": {"type": "integer", "description": "How many"},
    "x": {"type": "number"},
    "on": {"type": "boolean"},
    "s": {"type": "string"},
    "list": {"type": "array", "items": {"type": "integer"}},
    "any": {},
    "either": {"type": ["string", "null", "number"]},
    "one": {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
    "place": {"$ref": "#/$defs/place"},
    "loop": {"$ref": "#/properties/loop"},
    "colour": {"enum": ["red", "green", 3]}
  },
  "required": ["n", "s"],
  "additionalProperties": false,
  "$defs": {"place": {"type": "object"}}
})");

Result<std::string> no_file(const std::string& path) {
  if (path == "there") return std::string("text\n");
  if (path == "latin1" || path == "-") return std::string("caf\xE9\n");
  if (path == "cut") return std::string("\xE2\x82");
  return fail("cannot read " + path);
}

std::string made(const std::vector<std::string>& words, json given = json::object()) {
  auto result = with_words(std::move(given), words, kSchema, no_file);
  return result ? result->dump() : result.error().text;
}

}  // namespace

TEST_CASE("arguments take the type that the schema gives them") {
  CHECK(made({"n=3"}) == R"({"n":3})");
  CHECK(made({"n=3.0"}) == R"({"n":3})");
  CHECK(made({"n=3.5"}) == "n: '3.5' is not an integer");
  CHECK(made({"n="}) == "n: '' is not an integer");
  CHECK(made({"x=1e3"}) == R"({"x":1000.0})");
  CHECK(made({"on=true"}) == R"({"on":true})");
  CHECK(made({"on=yes"}) == "on: 'yes' is not a boolean");
  CHECK(made({"s=true"}) == R"({"s":"true"})");
  CHECK(made({"s="}) == R"({"s":""})");
  CHECK(made({"s=a=b"}) == R"({"s":"a=b"})");
  CHECK(made({"any=1"}) == R"({"any":1})");
  CHECK(made({"any=one"}) == R"({"any":"one"})");
  CHECK(made({"either=null"}) == R"({"either":null})");
  CHECK(made({"either=4"}) == R"({"either":4})");
  CHECK(made({"either=four"}) == R"({"either":"four"})");
  CHECK(made({"one=false"}) == R"({"one":false})");
  CHECK(made({"one=no"}) == R"({"one":"no"})");
  CHECK(made({R"(place={"a":1})"}) == R"({"place":{"a":1}})");
  CHECK(made({"place=1"}) == "place: '1' is not an object");
  CHECK(made({"colour=red"}) == R"({"colour":"red"})");
  CHECK(made({"colour=3"}) == R"({"colour":3})");
  CHECK(made({"colour=blue"}) == R"(colour: 'blue' is none of "red" | "green" | 3)");
}

TEST_CASE("a reference that leads to itself is any value") {
  CHECK(made({"loop=1"}) == R"({"loop":1})");
}

TEST_CASE("a list comes piece by piece, or as JSON") {
  CHECK(made({"list=1", "list=2"}) == R"({"list":[1,2]})");
  CHECK(made({"list=[1,2]"}) == R"({"list":[1,2]})");
  CHECK(made({"list=1", "list=two"}) == "list: 'two' is not an integer");
  CHECK(made({"list=[1]", "list=2"}) == "list is given twice");
}

TEST_CASE("files, names that are not there, and what is given twice") {
  CHECK(made({"s=@there"}) == R"({"s":"text\n"})");
  CHECK(made({"s=@gone"}) == "s: cannot read gone");
  CHECK(made({"s=@@there"}) == R"({"s":"@there"})");
  // The server would get other bytes than those of the file.
  CHECK(made({"s=@latin1"}) == "s: byte 4 of latin1 is no UTF-8; encode it (as base64, for one)");
  CHECK(made({"s=@-"}) == "s: byte 4 of stdin is no UTF-8; encode it (as base64, for one)");
  CHECK(made({"s=@cut"}) == "s: byte 1 of cut is no UTF-8; encode it (as base64, for one)");
  CHECK(made({"s=\xFF"}).rfind("byte 3 of 's=", 0) == 0);
  CHECK(made({"s=\xE2\x82\xAC"}) == "{\"s\":\"\xE2\x82\xAC\"}");
  CHECK(made({"m=1"}) == "the tool has no argument 'm'; did you mean 'n'?");
  CHECK(made({"colours=red"}) == "the tool has no argument 'colours'; did you mean 'colour'?");
  CHECK(made({"n=1", "n=2"}) == "n is given twice");
  CHECK(made({"n=1"}, json{{"n", 2}}) == "n is given twice");
  CHECK(made({"n=1"}, json{{"more", 2}}) == R"({"more":2,"n":1})");
  CHECK(made({"n"}) == "'n' is no argument: write name=value");
  CHECK(made({"=1"}) == "'=1' is no argument: write name=value");
  // An open schema accepts unlisted names.
  CHECK(with_words(json::object(), {"free=1"}, json::object(), no_file)->dump() == R"({"free":1})");
}

TEST_CASE("what is missing is said with its type") {
  CHECK(missing(json{{"s", ""}}, kSchema) == std::vector<std::string>{"n (integer): How many"});
  CHECK(missing(json{{"s", ""}, {"n", 1}}, kSchema).empty());
  CHECK(missing(json::object(), json{{"required", 3}}).empty());
}

TEST_CASE("types in words") {
  auto words = [](const char* name) { return type_words(property(kSchema, name), kSchema); };
  CHECK(words("list") == "integer[]");
  CHECK(words("either") == "string | null | number");
  CHECK(words("one") == "boolean | string");
  CHECK(words("any") == "any");
  CHECK(words("nowhere") == "any");
  CHECK(words("colour") == R"("red" | "green" | 3)");
  CHECK(property_names(kSchema, 3) == std::vector<std::string>{"n", "s", "any"});
}

TEST_CASE("schemas that are none do no harm") {
  for (const char* text :
       {"[]", "3", R"({"properties":[]})", R"({"properties":{"a":3},"required":["a",1]})",
        R"({"properties":{"a":{"type":7,"enum":{},"anyOf":[]}}})",
        R"({"properties":{"a":{"anyOf":[1,"x"]}}})", R"({"properties":{"a":{"type":"array","items":[1]}}})",
        R"({"properties":{"a":{"$ref":"#/properties//"}}})"}) {
    const json schema = json::parse(text);
    INFO(text);
    if (!schema.is_object()) continue;
    CHECK(with_words(json::object(), {"a=x"}, schema, no_file).has_value());
    type_words(property(schema, "a"), schema);
    missing(json::object(), schema);
  }
}
