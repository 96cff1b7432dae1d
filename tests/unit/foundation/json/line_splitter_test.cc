#include "foundation/json/line_splitter.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace lineward;

TEST_CASE("lines come whole, however the bytes came, and long ones with their outline") {
  const std::string large = "[\"" + std::string(300000, 'x') + "\"]";
  for (size_t chunk : {1000u, 65536u, 1000000u}) {
    LineSplitter splitter(1 << 20);
    std::vector<json::Text> lines;
    const std::string text = large + "\r\n\n1\n" + large + "\n" + large;
    for (size_t at = 0; at < text.size(); at += chunk)
      REQUIRE(splitter.feed(text.substr(at, chunk),
                            [&](json::Text&& line) { lines.push_back(std::move(line)); }));
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].bytes == large);
    CHECK(lines[1].bytes.empty());
    CHECK(lines[2].bytes == "1");
    CHECK(lines[3].bytes == large);
    for (size_t i : {0u, 3u}) {
      REQUIRE(lines[i].outline != nullptr);
      CHECK(lines[i].outline->end_of(1) == large.size() - 1);
    }
    CHECK(lines[1].outline == nullptr);
    CHECK(lines[2].outline == nullptr);
    CHECK(splitter.take_partial() == large);
  }
}

TEST_CASE("what is left of a line that was too long or taken away is not of the next one") {
  LineSplitter splitter(400000);
  json::Text got;
  const auto keep = [&](json::Text&& line) { got = std::move(line); };
  CHECK_FALSE(splitter.feed(std::string(300000, '1') + std::string(200000, '1'), keep));
  CHECK(splitter.feed("[" + std::string(300000, ' '), keep));
  CHECK(splitter.has_partial());
  CHECK(splitter.take_partial().size() == 300001);
  CHECK(splitter.feed("{}\n", keep));
  CHECK(got.bytes == "{}");
  CHECK(got.outline == nullptr);
}

TEST_CASE("of many lines so many are taken as are wanted, and the rest is left") {
  LineSplitter lines(100);
  std::vector<std::string> got;
  std::string_view bytes = "a\nb\nc\nd";
  const auto take = [&](std::string line) { got.push_back(std::move(line)); };
  CHECK(lines.feed_some(bytes, 2, take));
  CHECK(bytes == "c\nd");
  CHECK(lines.feed_some(bytes, 2, take));
  CHECK(bytes.empty());
  CHECK(got == std::vector<std::string>{"a", "b", "c"});
  CHECK(lines.has_partial());
}
