#include "proxy/upstream/shared/own_id.h"

#include <catch2/catch.hpp>
#include <string>

using lineward::upstream::own_id;

TEST_CASE("Lineward's own numbers come back as numbers and as text") {
  for (const char* raw : {"7", "7.0", "7.000", "\"7\"", "\"\\u0037\""}) {
    CAPTURE(raw);
    CHECK(own_id(raw) == 7);
  }
  CHECK(own_id("\"9007199254740993\"") == 9007199254740993);
}

TEST_CASE("what Lineward did not write is not its own") {
  for (const char* raw : {"", "null", "7.5", "{}", "\"\"", "\"07\"", "\"7.0\"", "\" 7\"", "\"7 \"", "\"+7\"",
                          "\"x7\"", "\"-0\"", "\"99999999999999999999\"", "99999999999999999999"}) {
    CAPTURE(raw);
    CHECK_FALSE(own_id(raw).has_value());
  }
  CHECK_FALSE(own_id('"' + std::string(200, '0') + "7\"").has_value());
}
