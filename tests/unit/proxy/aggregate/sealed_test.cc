// Values that clients return (proxy/aggregate/sealed.h).
#include "proxy/aggregate/sealed.h"

#include <catch2/catch.hpp>

using namespace lineward::aggregate;

TEST_CASE("a cursor comes back as it went, for its own list alone") {
  std::vector<CursorPart> parts{{"fs", R"("")", 1}, {"a-b_c", R"("p\u00e4ge:2:\"x\"")", 999}};
  std::string text = seal_cursor("tools/list", parts);
  CHECK(text.find_first_of("\"\\+/= ") == std::string::npos);
  auto opened = open_cursor("tools/list", text);
  REQUIRE(opened);
  CHECK(*opened == parts);
  CHECK_FALSE(open_cursor("prompts/list", text));
}

TEST_CASE("a cursor that was forged or changed is none") {
  std::string good = seal_cursor("tools/list", {{"fs", R"("abc")", 1}});
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = bad[at] == 'A' ? 'B' : 'A';
    if (bad == good) continue;
    auto opened = open_cursor("tools/list", bad);
    // The last character may hold bits that mean nothing.
    if (opened) CHECK(at + 1 == good.size());
  }
  for (const char* text : {"", "abc", "lwc1.", "lwc1.!!!!", "lwc1.AAAA", "lwc1.AAAAAAAAAAAA"})
    CHECK_FALSE(open_cursor("tools/list", text));
  CHECK_FALSE(open_cursor("tools/list", good.substr(0, good.size() - 4)));
}

TEST_CASE("a cursor cannot carry what is no JSON into a request") {
  CHECK_FALSE(open_cursor("tools/list", seal_cursor("tools/list", {{"fs", R"("x","_meta":{})", 1}})));
  CHECK_FALSE(open_cursor("tools/list", seal_cursor("tools/list", {})));
}

TEST_CASE("a cursor names a server once, and goes on with a text") {
  CHECK_FALSE(open_cursor("tools/list", seal_cursor("tools/list", {{"a", R"("1")", 1}, {"a", R"("2")", 1}})));
  CHECK_FALSE(open_cursor("tools/list", seal_cursor("tools/list", {{"a", "{}", 1}})));
  CHECK_FALSE(open_cursor("tools/list", seal_cursor("tools/list", {{"a", "", 1}})));
}

TEST_CASE("task ids and states name their server, and keep their bytes") {
  CHECK(seal_task("fs", R"("a\u0062:c")") == R"("fs:a\u0062:c")");
  auto task = open_task(R"("fs:a\u0062:c")");
  REQUIRE(task);
  CHECK(task->server == "fs");
  CHECK(task->raw == R"("a\u0062:c")");
  auto state = open_state(seal_state("fs", R"("")"));
  REQUIRE(state);
  CHECK(state->server == "fs");
  CHECK(state->raw == R"("")");
  for (const char* raw : {R"("")", R"("abc")", R"(":x")", "7", ""}) {
    CHECK_FALSE(open_task(raw));
    CHECK_FALSE(open_state(raw));
  }
  CHECK_FALSE(open_state(R"("fs:x")"));
}
