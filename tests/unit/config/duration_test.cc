#include "config/duration.h"

#include <catch2/catch.hpp>

using namespace lineward::config;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST_CASE("durations") {
  struct {
    const char* text;
    milliseconds value;
  } good[] = {{"500ms", 500ms}, {"30s", 30s},        {"2m", 2min}, {"1h", 1h},
              {"1h30m", 90min}, {"1.5s", 1500ms},    {"0s", 0ms},  {"0.25m", 15s},
              {"1d", 24h},      {"1m0.5s", 60500ms}, {"007s", 7s}, {"1h0m0s1ms", 3'600'001ms}};
  for (const auto& one : good) {
    INFO(one.text);
    auto parsed = parse_duration(one.text);
    REQUIRE(parsed);
    CHECK(*parsed == one.value);
    auto again = parse_duration(format_duration(one.value));
    REQUIRE(again);
    CHECK(*again == one.value);
  }
}

TEST_CASE("what is no duration") {
  for (const char* text :
       {"",      " ",    "s",    "30 s",  "-1s",     "+1s",  "1.s",  ".5s",           "1s1h",
        "1s1s",  "1S",   "1min", "1.5ms", "0.0001s", "1:30", "1e3s", "999999999999d", "99999999999999999999s",
        "3651d", "1h30", "1µs"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("a bare number shows both spellings") {
  auto parsed = parse_duration("30");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().text == "30 has no unit: write 30s or 30ms");
  CHECK(lacks_unit("1.5"));
  CHECK_FALSE(lacks_unit("30s"));
  CHECK_FALSE(lacks_unit("1s30"));
  CHECK_FALSE(lacks_unit(""));
}

TEST_CASE("durations are written the short way") {
  CHECK(format_duration(0ms) == "0s");
  CHECK(format_duration(999ms) == "999ms");
  CHECK(format_duration(1900ms) == "1.9s");
  CHECK(format_duration(60s) == "1m");
  CHECK(format_duration(75s) == "1m15s");
  CHECK(format_duration(36h) == "36h");
  CHECK(format_duration(-5ms) == "0s");
}

TEST_CASE("sizes") {
  CHECK(*parse_size("1048576") == 1048576);
  CHECK(*parse_size("8MiB") == 8u << 20);
  CHECK(*parse_size("512KiB") == 512u << 10);
  CHECK(*parse_size("1.5GiB") == 1536u << 20);
  CHECK(*parse_size("0") == 0);
  CHECK(*parse_size("7B") == 7);
  for (const char* text :
       {"", "MiB", "8MB", "8M", "8 MiB", "-1", "0.5B", "1.5", "8mib", "1KiB1", "999999999999999GiB"}) {
    INFO(text);
    CHECK_FALSE(parse_size(text));
  }
  CHECK(format_size(8u << 20) == "8MiB");
  CHECK(format_size(1000) == "1000");
  CHECK(format_size(0) == "0");
}
