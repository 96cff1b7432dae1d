#include "proxy/upstream/stdio/cut_lines.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using lineward::upstream::CutLines;

namespace {

struct Read {
  explicit Read(const std::string& bytes, size_t piece) {
    CutLines cut(10);
    for (size_t at = 0; at < bytes.size(); at += piece)
      skipped +=
          cut.feed(bytes.substr(at, piece), [this](std::string line) { lines.push_back(std::move(line)); });
    if (cut.has_partial()) rest = cut.take_partial();
  }
  std::vector<std::string> lines;
  std::string rest;
  size_t skipped = 0;
};

}  // namespace

TEST_CASE("a line that is too long is told cut, once, and what follows it is told") {
  const std::string bytes = "one\r\n" + std::string(25, 'x') + "\ntwo\n" + std::string(10, 'y') + "\nthree";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Read read(bytes, piece);
    CHECK(read.lines == std::vector<std::string>{"one", std::string(10, 'x'), "two", std::string(10, 'y')});
    CHECK(read.rest == "three");
    CHECK(read.skipped == 15);
  }
}

TEST_CASE("a line without an end keeps no more than may be") {
  const Read read(std::string(1000, 'z'), 7);
  CHECK(read.lines == std::vector<std::string>{std::string(10, 'z')});
  CHECK(read.rest.empty());
  CHECK(read.skipped == 990);
}
