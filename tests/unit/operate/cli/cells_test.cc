#include "operate/cli/cells.h"

#include <catch2/catch.hpp>

using namespace lineward::cli;

TEST_CASE("columns are counted, not bytes") {
  CHECK(width_of("") == 0);
  CHECK(width_of("abc") == 3);
  CHECK(width_of("Größe") == 5);
  CHECK(width_of("検索") == 4);
  CHECK(width_of("🚀") == 2);
  CHECK(width_of("e\u0301") == 1);
  CHECK(width_of("\xff\xc3") == 2);  // no UTF-8: byte by byte
}

TEST_CASE("text is cut to columns, never through a character") {
  CHECK(cut("search_code", 0) == "search_code");
  CHECK(cut("search_code", 11) == "search_code");
  CHECK(cut("search_code", 10) == "search_co…");
  CHECK(cut("検索検索", 5) == "検索…");
  CHECK(cut("検索検索", 4) == "検…");
  CHECK(cut("abc", 1) == "…");
  CHECK(padded("検", 4) == "検  ");
  CHECK(fitted("search_code", 6) == "searc…");
  CHECK(fitted("ok", 4) == "ok  ");
  CHECK(fitted("ok", 0).empty());
}

TEST_CASE("a table has columns of equal width, no blanks at the end, and no line wider than the terminal") {
  const std::vector<Row> rows{{"NAME", "STATE", "WHY"}, {"a", "ready", ""}, {"longer", "x", "because"}};
  CHECK(table(rows, {}) ==
        "NAME    STATE  WHY\n"
        "a       ready\n"
        "longer  x      because\n");
  CHECK(table(rows, {true, false, 0}).substr(0, 9) == "\033[1mNAME ");
  Style narrow;
  narrow.width = 21;
  CHECK(table(rows, narrow).find("longer  x      becau…\n") != std::string::npos);
}

TEST_CASE("columns give up their width one after the other, as far as they must") {
  const std::vector<size_t> widths{4, 20, 10};
  CHECK(widths_within(widths, {{2, 6}, {1, 5}}, 2, 38) == widths);
  CHECK(widths_within(widths, {{2, 6}, {1, 5}}, 2, 36) == std::vector<size_t>{4, 20, 8});
  CHECK(widths_within(widths, {{2, 6}, {1, 5}}, 2, 30) == std::vector<size_t>{4, 16, 6});
  CHECK(widths_within(widths, {{2, 6}, {2, 0}, {1, 5}}, 2, 30) == std::vector<size_t>{4, 20, 0});
  CHECK(widths_within(widths, {{2, 6}}, 2, 1) == std::vector<size_t>{4, 20, 6});
  CHECK(widths_within({}, {}, 2, 0).empty());
}
