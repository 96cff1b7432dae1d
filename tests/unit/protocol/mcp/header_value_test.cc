#include "protocol/mcp/header_value.h"

#include <catch2/catch.hpp>

using namespace lineward::mcp;

TEST_CASE("a header value stands for itself, or for what is wrapped in it") {
  std::string room = "what was there";
  const std::string plain = "get weather";
  auto same = decode_header_value(plain, room);
  REQUIRE(same);
  CHECK(same->data() == plain.data());
  CHECK(decode_header_value("=?base64?ZsO8cg==?=", room) == std::string_view("f\xc3\xbcr"));
  CHECK(decode_header_value("=?base64?"
                            "?=",
                            room) == std::string_view());
  CHECK(decode_header_value("=?BASE64?Zg==?=", room) == std::string_view("=?BASE64?Zg==?="));
  CHECK_FALSE(decode_header_value("=?base64?Zg=?=", room));
  CHECK_FALSE(decode_header_value("=?base64?/w==?=", room));  // no UTF-8
  CHECK_FALSE(decode_header_value("a\x01", room));
  CHECK(decode_header_value("=?base64?Zg==?=") == std::string("f"));
}
