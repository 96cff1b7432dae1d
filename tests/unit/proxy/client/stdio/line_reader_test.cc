#include "proxy/client/stdio/line_reader.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"

using lineward::Held;
using lineward::MemoryCharge;
using lineward::client::LineReader;

namespace {

struct Heard {
  std::vector<std::string> lines, too_long;

  void feed(LineReader& reader, std::string_view bytes) {
    reader.feed(
        bytes, [this](std::string line) { lines.push_back(std::move(line)); },
        [this](std::string_view beginning) { too_long.emplace_back(beginning); });
  }
};

}  // namespace

TEST_CASE("lines of a stdio client, split at any byte, with either end") {
  const std::string all = "{\"a\":1}\r\n\n{\"b\":2}\n";
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    LineReader reader(100);
    Heard heard;
    heard.feed(reader, std::string_view(all).substr(0, cut));
    heard.feed(reader, std::string_view(all).substr(cut));
    CHECK(heard.lines == std::vector<std::string>{"{\"a\":1}", "", "{\"b\":2}"});
    CHECK(heard.too_long.empty());
  }
}

TEST_CASE("a line over the limit is told once, with its beginning, and the next one is read") {
  LineReader reader(4);
  Heard heard;
  heard.feed(reader, "123");
  heard.feed(reader, "45");
  heard.feed(reader, "6789\nab\n");
  CHECK(heard.too_long == std::vector<std::string>{"1234"});
  CHECK(heard.lines == std::vector<std::string>{"ab"});
}

TEST_CASE(
    "what is there of an unfinished line is counted as held, until it is complete, too long or forgotten") {
  const uint64_t before = MemoryCharge::total(Held::bodies);
  {
    LineReader reader(1000);
    Heard heard;
    heard.feed(reader, "0123456789");
    CHECK(MemoryCharge::total(Held::bodies) == before + 10);
    heard.feed(reader, "\nrest");
    CHECK(MemoryCharge::total(Held::bodies) == before + 4);
    CHECK(reader.take_partial() == "rest");
    CHECK(MemoryCharge::total(Held::bodies) == before);
    heard.feed(reader, std::string(1001, 'x'));
    CHECK(MemoryCharge::total(Held::bodies) == before);
    heard.feed(reader, "\n0123456789");
    CHECK(MemoryCharge::total(Held::bodies) == before + 10);
  }
  CHECK(MemoryCharge::total(Held::bodies) == before);
}
