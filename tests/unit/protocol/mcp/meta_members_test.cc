#include "protocol/mcp/meta_members.h"

#include <catch2/catch.hpp>

#include "unit/protocol/mcp/parse.h"

using namespace lineward::mcp;

namespace {

std::string told(const std::string& message, const MetaMembers& members) {
  auto made = Message::parse(with_meta_members(parse(message), members));
  REQUIRE(made);
  return made->bytes();
}
std::string request(const std::string& params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"m")" + params + "}";
}
const MetaMembers kAlice{{"a/user", "alice"}, {"a/group", ""}};

}  // namespace

TEST_CASE("meta members: params and _meta are made where they are missing") {
  const std::string made = request(R"(,"params":{"_meta":{"a/user":"alice"}})");
  CHECK(told(request(""), kAlice) == made);
  CHECK(told(request(R"(,"params":null)"), kAlice) == made);
  CHECK(told(request(R"(,"params":{})"), kAlice) == made);
  CHECK(told(request(R"(,"params":{"_meta":null})"), kAlice) == made);
  CHECK(told(request(R"(,"params":{"_meta":{}})"), kAlice) == made);
  CHECK(told(request(""), {{"a/user", ""}}) == request(""));
}

TEST_CASE("meta members: the client's own go, in every spelling") {
  for (const char* own : {R"("a/user":"admin")", R"("a/user":"admin","a/user":["admin"])",
                          R"("A/USER":"admin")", R"("a\/user":"admin")", R"("\u0061/user" : {"x":"admin"})",
                          "\"a/u\xc5\xbf"
                          "er\":\"admin\"",
                          R"("a/u\u017fer":"admin")", R"("a/group":"admins")",
                          R"("a/group":"admins","a/user":"admin","A/Group":1)"}) {
    INFO(own);
    const std::string before = request(R"(,"params":{"_meta":{)" + std::string(own) + "}}");
    CHECK(told(before, kAlice) == request(R"(,"params":{"_meta":{"a/user":"alice"}})"));
    CHECK(told(before, {{"a/user", ""}, {"a/group", ""}}) == request(R"(,"params":{"_meta":{}})"));
  }
}

TEST_CASE("meta members: all other bytes stay") {
  const std::string before = request(
      R"(,"params": { "x":1.0, "_meta" : { "k":1e2 , "a/user":1, "l":"\u0041" } , "y":{"_meta":{"a/user":2}} })");
  const std::string after = told(before, kAlice);
  for (const char* kept : {R"("x":1.0)", R"("k":1e2)", R"("l":"\u0041")", R"("y":{"_meta":{"a/user":2}})"})
    CHECK(after.find(kept) != std::string::npos);
  CHECK(after.find(R"("a/user":1)") == std::string::npos);
  CHECK(parse(after).raw(Field::params_meta).find(R"("a/user":"alice")") != std::string::npos);
  CHECK(told(request(""), {{"a/user", "\"\\\x1f"}}) ==
        request(R"(,"params":{"_meta":{"a/user":"\"\\\u001f"}})"));
}
