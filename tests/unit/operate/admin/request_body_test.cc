#include "operate/admin/request_body.h"

#include <catch2/catch.hpp>

using lineward::admin::parse_body;

TEST_CASE("a body that says a member twice is none") {
  CHECK(parse_body(R"({"force":true,"reason":"x"})").size() == 2);
  CHECK(parse_body(R"({"force":false,"force":true})").is_discarded());
  CHECK(parse_body(R"({"force":false,"\u0066orce":true})").is_discarded());
  CHECK(parse_body("{").is_discarded());
  CHECK(parse_body("[1]").is_array());
  CHECK(parse_body(std::string(100'000, '[')).is_discarded());
}
