// Many answers as one (proxy/aggregate/merge.h).
#include "proxy/aggregate/merge.h"

#include <catch2/catch.hpp>

#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using namespace lineward::aggregate;
using mcp::Field;
using mcp::parse;

namespace {

mcp::Message answer(const std::string& result) {
  return parse(R"({"jsonrpc":"2.0","id":0,"result":)" + result + "}");
}

MemberFacts facts(const std::string& server, const std::string& capabilities, const std::string& more = "") {
  return read_facts(server, answer(R"({"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":)" +
                                   capabilities + more + "}"));
}

}  // namespace

TEST_CASE("capabilities are the union, flags that one has all have, lists always change") {
  auto merged = parse(
      merged_discover({facts("a", R"({"tools":{},"logging":{}})"),
                       facts("b", R"({"tools":{"listChanged":false,"x":1},"resources":{"subscribe":true}})")},
                      {}, false));
  CHECK(
      merged.raw(Field::result_capabilities) ==
      R"({"tools":{"x":1,"listChanged":true},"logging":{},"resources":{"subscribe":true,"listChanged":true}})");
  CHECK(merged.raw(Field::result_supported_versions) == R"(["2026-07-28"])");
  CHECK(merged.raw(Field::result_cache_scope) == R"("private")");
  CHECK(merged.raw(Field::result_ttl_ms) == "0");
  CHECK(merged.bytes().find("instructions") == std::string::npos);
  CHECK(merged.bytes().find("io.lineward/") == std::string::npos);
}

TEST_CASE("extensions that differ are left out, and that is shown") {
  auto merged = parse(
      merged_discover({facts("a", R"({"extensions":{"x/same":{"a":1},"x/differs":{"v":1},"x/only":{}}})"),
                       facts("b", R"({"extensions":{"x/same":{ "a" : 1 },"x/differs":{"v":2}}})")},
                      {}, false));
  CHECK(merged.raw(Field::result_capabilities) == R"({"extensions":{"x/same":{"a":1},"x/only":{}}})");
  CHECK(merged.raw(Field::result_meta).find(R"("io.lineward/differingExtensions":["x/differs"])") !=
        std::string_view::npos);
}

TEST_CASE("instructions stand under headings, as they came") {
  auto merged = parse(merged_discover({facts("a", "{}", R"(,"instructions":"Be \u0061.")"), facts("b", "{}"),
                                       facts("c", "{}", R"(,"instructions":"Line\n2")")},
                                      {}, false));
  CHECK(merged.bytes().find(R"("instructions":"## a\n\nBe \u0061.\n\n## c\n\nLine\n2")") !=
        std::string::npos);
}

TEST_CASE("what is missing is said, not cached, and may have any list") {
  auto merged = parse(merged_discover({facts("a", R"({"tools":{}})", R"(,"ttlMs":5000)")},
                                      {{"b", "timeout_request", "b did not \"answer\""}}, true));
  CHECK(merged.raw(Field::result_ttl_ms) == "0");
  CHECK(merged.raw(Field::result_capabilities).find("prompts") != std::string_view::npos);
  CHECK(merged.raw(Field::result_capabilities).find(R"("resources":{"subscribe":true)") !=
        std::string_view::npos);
  CHECK(merged.raw(Field::result_capabilities).find(R"("logging":{})") != std::string_view::npos);
  CHECK(
      merged.raw(Field::result_meta)
          .find(
              R"("io.lineward/missing":[{"server":"b","reason":"timeout_request","text":"b did not \"answer\""}])") !=
      std::string_view::npos);
  CHECK(merged.raw(Field::result_cache_scope) == R"("public")");
}

TEST_CASE("the smallest ttl counts, and none is zero") {
  auto with = [](std::string ttl) { return facts("a", "{}", ttl.empty() ? "" : ",\"ttlMs\":" + ttl); };
  CHECK(parse(merged_discover({with("5000"), with("300")}, {}, false)).raw(Field::result_ttl_ms) == "300");
  CHECK(parse(merged_discover({with("5000"), with("")}, {}, false)).raw(Field::result_ttl_ms) == "0");
  CHECK(parse(merged_discover({with("5000"), with("-1")}, {}, false)).raw(Field::result_ttl_ms) == "0");
}

TEST_CASE("versions are those that all roads lead to") {
  MemberFacts none;
  none.server = "odd";
  CHECK(parse(merged_discover({facts("a", "{}"), none}, {}, false)).raw(Field::result_supported_versions) ==
        "[]");
}

TEST_CASE("a method that names nothing belongs to the server that declares what it is a part of") {
  std::vector<MemberFacts> all{facts("a", R"({"tools":{},"extensions":{"com.example/search":{}}})"),
                               facts("b", R"({"tools":{},"experimental":{"odd":{}}})")};
  CHECK(servers_for("search/run", all) == std::vector<std::string>{"a"});
  CHECK(servers_for("com.example/search/run", all) == std::vector<std::string>{"a"});
  CHECK(servers_for("odd/thing", all) == std::vector<std::string>{"b"});
  CHECK(servers_for("tools/frobnicate", all) == std::vector<std::string>{"a", "b"});
  CHECK(servers_for("nobody/knows", all).empty());
}

TEST_CASE("what calls are routed by is short, whatever a server says of itself") {
  auto routing = [](const std::string& capabilities, const std::string& more = "") {
    return facts_for_routing("a", answer(R"({"capabilities":)" + capabilities + more + "}"));
  };
  const std::string long_text(100000, 'x');
  MemberFacts some =
      routing(R"({"tools":{"listChanged":true,"odd":")" + long_text +
                  R"("},"extensions":{"com.example/search":{"deep":[")" + long_text + R"("]}}})",
              R"(,"instructions":")" + long_text + R"(")");
  CHECK(some.capabilities == R"({"tools":{"listChanged":true},"extensions":{"com.example/search":{}}})");
  CHECK(some.instructions.empty());
  CHECK(servers_for("search/run", {some}) == std::vector<std::string>{"a"});
  std::string many = R"({"tools":{})";
  for (int i = 0; i < 10000; ++i)
    many += R"(,"c)" + std::to_string(i) + R"(":{})";
  MemberFacts cut = routing(many + "}");
  CHECK(cut.capabilities.size() <= kMaxRoutingBytes);
  CHECK(cut.has("tools"));
  CHECK(cut.has("c10"));
  CHECK_FALSE(cut.has("c9999"));
  CHECK(routing("[]").capabilities == "{}");
  CHECK(routing(R"({"tools":true})").has("tools"));
}

TEST_CASE("a page keeps what it does not know, has one cursor, and the smallest ttl") {
  ListPage page;
  page.list = List::tools;
  CHECK(read_page(page,
                  answer(R"({"tools":[],"nextCursor":"","ttlMs":900,"x":{"deep":[1.0]},"_meta":{"k":1}})")) ==
        R"("")");
  CHECK(read_page(page, answer(R"({"tools":[],"ttlMs":70,"x":2,"y":3,"_meta":{"k":2,"l":3}})")).empty());
  CHECK(read_page(page, answer(R"({"tools":[],"ttlMs":80,"nextCursor":null})")).empty());
  page.items = R"({"name":"a__x", "n":1e400},{"name":"b__y"})";
  page.more = {{"a", R"("")", 1}};
  auto merged = parse(merged_list(page, false).bytes);
  CHECK(merged.bytes().find(R"("tools":[{"name":"a__x", "n":1e400},{"name":"b__y"}])") != std::string::npos);
  CHECK(merged.raw(Field::result_ttl_ms) == "70");
  CHECK(merged.bytes().find(R"("x":{"deep":[1.0]},"y":3)") != std::string::npos);
  CHECK(merged.raw(Field::result_meta).find(R"("k":1,"l":3)") != std::string_view::npos);
  auto parts = open_cursor("tools/list", merged.text(Field::result_next_cursor));
  REQUIRE(parts);
  CHECK(*parts == page.more);
  page.more.clear();
  CHECK_FALSE(parse(merged_list(page, false).bytes).has(Field::result_next_cursor));
  // The outline passes over the items.
  const json::Text text = merged_list(page, false);
  const auto again = mcp::Message::parse(text);
  REQUIRE(again);
  const json::Span items = again->at(Field::result_tools);
  CHECK(items.in(text.bytes) == "[" + page.items + "]");
  CHECK(text.outline->end_of(items.begin) == items.end);
  page.items.clear();
  CHECK(parse(merged_list(page, false).bytes).raw(Field::result_tools) == "[]");
}

TEST_CASE("what a server has said to one or another is what calls are routed by") {
  const auto said = [](const char* capabilities) {
    MemberFacts facts;
    facts.server = "s";
    facts.capabilities = capabilities;
    return facts;
  };
  const MemberFacts both = united(said(R"({"tools":{},"prompts":{"listChanged":true}})"),
                                  said(R"({"tools":{"listChanged":true}})"));
  CHECK(both.has("tools", "listChanged"));
  CHECK(both.has("prompts", "listChanged"));
  CHECK_FALSE(both.has("resources"));
  const std::string long_one = R"({")" + std::string(kMaxRoutingBytes - 10, 'x') + R"(":{}})";
  CHECK(united(said(long_one.c_str()), said(R"({"tools":{}})")).capabilities == R"({"tools":{}})");
}
