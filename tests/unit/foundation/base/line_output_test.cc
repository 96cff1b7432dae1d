#include "foundation/base/line_output.h"

#include <catch2/catch.hpp>
#include <vector>

using lineward::LineOutput;

namespace {

constexpr size_t kPage = 8;

// Takes so many bytes, in the pieces that it is given.
struct Place {
  size_t room = 0;
  std::string text;
  std::vector<size_t> pieces;

  uint64_t put(LineOutput& out, std::string lines, size_t most = 100) {
    return out.put(lines, most, [this](std::string_view piece) -> ssize_t {
      const size_t taken = std::min(room, piece.size());
      if (taken == 0) return -1;
      room -= taken;
      text += piece.substr(0, taken);
      pieces.push_back(piece.size());
      return static_cast<ssize_t>(taken);
    });
  }
};

}  // namespace

TEST_CASE("lines go out in pieces that end with a line where one fits") {
  LineOutput out;
  Place place{100, {}, {}};
  CHECK(place.put(out, "one\ntwo\nthree\nfour-and-more\nx\n", kPage) == 0);
  CHECK(place.text == "one\ntwo\nthree\nfour-and-more\nx\n");
  CHECK(place.pieces == std::vector<size_t>{8, 6, 8, 8});
}

TEST_CASE("a line that was cut off is lost alone: the next one begins on its own") {
  LineOutput out;
  Place place{6, {}, {}};
  CHECK(place.put(out, "one\ntwo\nthree\n") == 2);
  CHECK(place.text == "one\ntw");
  place.room = 0;
  CHECK(place.put(out, "four\n") == 1);
  CHECK(place.text == "one\ntw");
  // The break alone finds room: the line is lost, and nothing is within one any more.
  place.room = 1;
  CHECK(place.put(out, "five\n") == 1);
  CHECK(place.text == "one\ntw\n");
  place.room = 100;
  CHECK(place.put(out, "six\n") == 0);
  CHECK(place.text == "one\ntw\nsix\n");
  place.room = 2;
  CHECK(place.put(out, "seven\n") == 1);
  place.room = 100;
  CHECK(place.put(out, "eight\nnine\n") == 0);
  CHECK(place.text == "one\ntw\nsix\nse\neight\nnine\n");
}

TEST_CASE("another place begins with a line") {
  LineOutput out;
  Place first{2, {}, {}}, second{100, {}, {}};
  CHECK(first.put(out, "one\n") == 1);
  out.begin_anew();
  CHECK(second.put(out, "two\n") == 0);
  CHECK(second.text == "two\n");
}
