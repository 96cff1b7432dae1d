#include "plugins/rate_limit/resp_gate.h"

#include <catch2/catch.hpp>
#include <string>

using lineward::plugins::RespGate;

namespace {

// Whole, and byte by byte.
bool takes(const std::string& bytes) {
  RespGate whole, slow;
  bool good = true;
  for (char c : bytes)
    good = slow.takes(std::string_view(&c, 1)) && good;
  REQUIRE(whole.takes(bytes) == good);
  return good;
}

}  // namespace

TEST_CASE("the replies that are asked for pass, however they are split") {
  CHECK(takes("+OK\r\n+PONG\r\n*3\r\n:1\r\n:0\r\n:500000\r\n"));
  CHECK(takes("-NOSCRIPT No matching script\r\n$5\r\nhello\r\n$-1\r\n*-1\r\n*0\r\n"));
  CHECK(takes("*2\r\n*2\r\n:1\r\n:2\r\n$0\r\n\r\n:3\r\n"));
  std::string many;
  for (int i = 0; i < 10'000; ++i)
    many += "*3\r\n:1\r\n:0\r\n:500000\r\n";
  CHECK(takes(many));
}

TEST_CASE("counts, lengths and depths are refused before anything is built of them") {
  CHECK_FALSE(takes("*100000000\r\n"));
  CHECK_FALSE(takes("*17\r\n"));
  CHECK_FALSE(takes("$1000000000\r\n"));
  CHECK_FALSE(takes("$99999999999999999999\r\n"));
  CHECK_FALSE(takes("*-2\r\n"));
  CHECK_FALSE(takes("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"));
  CHECK_FALSE(takes("%1\r\n"));
  CHECK_FALSE(takes(":1x\r\n"));
  CHECK_FALSE(takes("HTTP/1.1 400 Bad Request\r\n"));
  CHECK_FALSE(takes("+" + std::string(RespGate::kMostBytes, 'a')));
  // Each small, together without end.
  std::string deep = "*16\r\n";
  for (int i = 0; i < 16; ++i)
    deep += "$4000\r\n" + std::string(4000, 'a') + "\r\n";
  CHECK_FALSE(takes(deep));
}
