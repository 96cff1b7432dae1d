#include "foundation/json/json_splice.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unit/foundation/json/json_gen.h"

using namespace lineward;
using json::Span;
using json::Splice;
using test::JsonGen;
using test::members_of;

namespace {

struct Member {
  Span key, value;
};

// The object that `text` is, and its members.
struct Located {
  Span object;
  std::vector<Member> members;
};

Located locate(const std::string& text) {
  Located out;
  json::Cursor cursor(text);
  REQUIRE(cursor.at_object());
  out.object.begin = cursor.offset();
  REQUIRE(cursor.enter_object());
  Member member;
  bool escaped = false;
  while (cursor.next_key(member.key, escaped)) {
    REQUIRE(cursor.skip(member.value));
    out.members.push_back(member);
  }
  out.object.end = cursor.offset();
  REQUIRE(cursor.finish());
  return out;
}

std::string without(const std::string& text, const std::vector<size_t>& gone, const char* added = nullptr) {
  const Located at = locate(text);
  Splice splice(text);
  for (const size_t i : gone)
    splice.remove_member(at.object, at.members[i].key, at.members[i].value);
  if (added) splice.add_member(at.object, added, "0");
  return splice.apply();
}

}  // namespace

TEST_CASE("Splice without edits gives the text back") {
  const std::string text = " { } ";
  Splice splice(text);
  CHECK(splice.empty());
  CHECK(splice.apply() == text);
}

TEST_CASE("Splice replaces and inserts in any order") {
  const std::string text = R"({"id":1,"a":"b"})";
  Splice splice(text);
  splice.insert(13, "srv__");
  splice.replace({6, 7}, "\"x\"");
  splice.insert(13, "more__");
  splice.insert(6, " ");
  CHECK_FALSE(splice.empty());
  CHECK(splice.apply() == R"({"id": "x","a":"srv__more__b"})");
  CHECK(splice.empty());
}

TEST_CASE("Splice adds members") {
  CHECK(without("{}", {}, "k") == R"({"k":0})");
  CHECK(without("{ \n}", {}, "k") == "{\"k\":0 \n}");
  CHECK(without(R"({"a":1})", {}, "k") == R"({"k":0,"a":1})");
  CHECK(without("{ \"a\":1}", {}, "q\"\n") == "{\"q\\\"\\n\":0, \"a\":1}");
  const std::string text = "{ }";
  Splice splice(text);
  splice.add_member({0, 3}, "a", "{}");
  splice.add_member({0, 3}, "b", "1.0");
  CHECK(splice.apply() == R"({"a":{},"b":1.0 })");
}

TEST_CASE("Splice removes members with the comma they no longer need") {
  const std::string text = R"({"a":1,"b":[2],"c":{"d":3}})";
  CHECK(without(text, {0}) == R"({"b":[2],"c":{"d":3}})");
  CHECK(without(text, {1}) == R"({"a":1,"c":{"d":3}})");
  CHECK(without(text, {2}) == R"({"a":1,"b":[2]})");
  CHECK(without(text, {0, 1}) == R"({"c":{"d":3}})");
  CHECK(without(text, {1, 2}) == R"({"a":1})");
  CHECK(without(text, {2, 1}) == R"({"a":1})");
  CHECK(without(text, {2, 0}) == R"({"b":[2]})");
  CHECK(without(text, {0, 1, 2}) == "{}");
  CHECK(without(text, {1, 1}) == R"({"a":1,"c":{"d":3}})");
  CHECK(without(R"({"a":1})", {0}) == "{}");
}

TEST_CASE("Splice removes members with white space around") {
  const std::string text = "{ \"a\" : 1 ,\n \"b\":2\t, \"c\" :3 }";
  CHECK(without(text, {0}) == "{ \"b\":2\t, \"c\" :3 }");
  CHECK(without(text, {1}) == "{ \"a\" : 1 ,\n \"c\" :3 }");
  CHECK(without(text, {2}) == "{ \"a\" : 1 ,\n \"b\":2\t }");
  CHECK(without(text, {1, 2}) == "{ \"a\" : 1  }");
  CHECK(without(text, {0, 1, 2}) == "{  }");
}

TEST_CASE("Splice adds and removes in one object") {
  CHECK(without(R"({"a":1,"b":2})", {0}, "k") == R"({"k":0,"b":2})");
  CHECK(without(R"({"a":1,"b":2})", {1}, "k") == R"({"k":0,"a":1})");
  CHECK(without(R"({"a":1,"b":2})", {0, 1}, "k") == R"({"k":0})");
  CHECK(without(R"({ "a":1 })", {0}, "k") == R"({"k":0  })");
}

TEST_CASE("Splice edits an object and the object in it") {
  const std::string text = R"({"x":1,"m":{"a":1}})";
  Splice splice(text);
  splice.remove_member({11, 18}, {13, 14}, {16, 17});
  splice.remove_member({0, 19}, {2, 3}, {5, 6});
  splice.add_member({11, 18}, "b", "2");
  splice.add_member({0, 19}, "y", "3");
  CHECK(splice.apply() == R"({"y":3,"m":{"b":2}})");
}

TEST_CASE("Splice on random objects keeps every other member as it is spelled") {
  JsonGen gen(7);
  for (int round = 0; round < 5000; ++round) {
    gen.pretty = round % 2 == 0;
    JsonGen::Members members;
    for (uint32_t n = gen.below(7); n > 0; --n)
      members.emplace_back(gen.key(), gen.value(2));
    const std::string text = gen.space() + gen.object(members) + gen.space();
    const Located at = locate(text);
    REQUIRE(at.members.size() == members.size());

    JsonGen::Members expected;
    std::vector<size_t> gone;
    Splice splice(text);
    const uint32_t adds = gen.below(3);
    for (uint32_t i = 0; i < adds; ++i) {
      expected.emplace_back("\"added\"", gen.value(1));
      splice.add_member(at.object, "added", expected.back().second);
    }
    for (size_t i = 0; i < members.size(); ++i) {
      if (gen.chance(2)) {
        gone.push_back(i);
      } else if (gen.chance(4)) {
        expected.emplace_back(members[i].first, "\"new\"");
        splice.replace(at.members[i].value, "\"new\"");
      } else {
        expected.push_back(members[i]);
      }
    }
    gen.shuffle(gone);
    for (const size_t i : gone)
      splice.remove_member(at.object, at.members[i].key, at.members[i].value);

    const std::string out = splice.apply();
    INFO(text << "\n" << out);
    REQUIRE(json::validate(out) == json::Fault::none);
    REQUIRE(members_of(out) == expected);
    REQUIRE(out.substr(0, at.object.begin + 1) == text.substr(0, at.object.begin + 1));
    REQUIRE(out.substr(out.size() - (text.size() - at.object.end + 1)) == text.substr(at.object.end - 1));
  }
}

TEST_CASE("flatten_lines leaves one line and the same message") {
  std::string text = "{\r\n \"a\":\n\n\"\\n\\r\"\r}\n";
  const size_t size = text.size();
  json::flatten_lines(text);
  CHECK(text == "{   \"a\":  \"\\n\\r\" } ");
  CHECK(text.size() == size);
  std::string none = "{\"a\":1}";
  json::flatten_lines(none);
  CHECK(none == "{\"a\":1}");
  std::string empty;
  json::flatten_lines(empty);
  CHECK(empty.empty());
}
