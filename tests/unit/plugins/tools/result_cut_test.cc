#include "plugins/tools/result_cut.h"

#include <catch2/catch.hpp>
#include <string>

#include "foundation/json/json_member.h"
#include "foundation/json/json_scan.h"

namespace lineward::plugins {
namespace {

std::string text_item(const std::string& text) {
  return R"({"type":"text","text":")" + text + R"("})";
}

bool is_json(std::string_view text) {
  return json::validate(text, json::kDepthCeiling) == json::Fault::none;
}

std::string cut(const std::string& result, uint64_t bytes, uint64_t items = 0) {
  auto out = cut_result(result, {bytes, items});
  if (!out) return {};
  INFO(*out);
  REQUIRE(is_json(*out));
  if (bytes > 0) REQUIRE(out->size() <= bytes);
  return *out;
}

TEST_CASE("result cut: a text is cut between characters, and says how much is missing") {
  const std::string a = "0123456789";
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += a;
  const std::string result = R"({"content":[)" + text_item(text) + R"(],"isError":false})";
  const std::string out = cut(result, 2048);
  CHECK(out.find("of 5000 bytes of this text are left out by a limit of the gateway]") != std::string::npos);
  CHECK(out.substr(0, 40) == result.substr(0, 40));
  CHECK(out.find(R"("isError":false)") != std::string::npos);
  CHECK(out.size() > 1900);
}

TEST_CASE("result cut: escapes, pairs of surrogates and UTF-8 stay whole at every place") {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += R"(a\n\"\u00e9\ud83d\ude00é€😀\\)";
  const std::string result = R"({"content":[)" + text_item(text) + "]}";
  for (uint64_t most = 1024; most < 1100; ++most) {
    const std::string out = cut(result, most);
    REQUIRE(!out.empty());
    const auto content = json::member(out, "content");
    REQUIRE(content);
    REQUIRE(json::unescape(*content).find("\xef\xbf\xbd") == std::string::npos);  // no half of a pair
  }
  // 200 × (a, line break, quote, é, 😀, é, €, 😀, backslash) = 200 × 19 bytes.
  CHECK(cut(result, 1024).find(" of 4000 bytes") == std::string::npos);
  CHECK(cut(result, 1024).find(" of 3800 bytes") != std::string::npos);
}

TEST_CASE("result cut: the last texts are cut first, and what is no text stays") {
  const std::string long_text(3000, 't');
  const std::string image = R"({"type":"image","data":"AAAA","mimeType":"image/png"})";
  const std::string result = R"({"content":[)" + text_item("first") + "," + image + "," +
                             text_item(long_text) + "," + text_item(long_text) + "]}";
  const std::string out = cut(result, 3600);
  CHECK(out.find("first") != std::string::npos);
  CHECK(out.find(image) != std::string::npos);
  CHECK(out.find(long_text) != std::string::npos);
  CHECK(out.find("of 3000 bytes of this text") != std::string::npos);
}

TEST_CASE("result cut: what may not be cut is not") {
  const std::string data(5000, 'd');
  CHECK_FALSE(cut_result(R"({"content":[{"type":"image","data":")" + data + R"("}]})", {2048, 0}));
  CHECK_FALSE(cut_result(R"({"content":[],"structuredContent":{"a":")" + data + R"("}})", {2048, 0}));
  CHECK_FALSE(cut_result(R"({"structuredContent":{"type":"text","text":")" + data + R"("}})", {2048, 0}));
  CHECK_FALSE(
      cut_result(R"({"content":[{"type":"resource","resource":{"text":")" + data + R"("}}]})", {2048, 0}));
  CHECK_FALSE(cut_result(R"({"content":"x"})", {1, 0}));
}

TEST_CASE("result cut: items beyond a number are left out") {
  std::string content;
  for (int i = 0; i < 100; ++i)
    content += (i > 0 ? ", " : "") + text_item("item " + std::to_string(i));
  const std::string result = R"({"content":[ )" + content + R"( ],"resultType":"complete"})";
  CHECK(size_of_result(result, true).items == 100);
  const std::string out = cut(result, 0, 10);
  CHECK(size_of_result(out, true).items == 10);
  CHECK(out.find("item 8\"") != std::string::npos);
  CHECK(out.find("item 9\"") == std::string::npos);
  CHECK(out.find("[91 of 100 items are left out by a limit of the gateway]") != std::string::npos);
  CHECK(out.find(R"("resultType":"complete")") != std::string::npos);
  CHECK(cut(result, 0, 1).find("[100 of 100 items") != std::string::npos);
  CHECK(cut(result, 1024, 50).size() <= 1024 + 4000);
}

TEST_CASE("result cut: an error says why, in both eras") {
  CHECK(error_result("a \"b\"", false) == R"({"content":[{"type":"text","text":"a \"b\""}],"isError":true})");
  CHECK(json::member(error_result("x", true), "resultType") == "\"complete\"");
}

}  // namespace
}  // namespace lineward::plugins
