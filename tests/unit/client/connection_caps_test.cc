#include "client/connection_caps.h"

#include <catch2/catch.hpp>

using lineward::client::ConnectionCaps;

TEST_CASE("connections are counted by address, whatever their port") {
  uint32_t most = 2;
  ConnectionCaps caps(most);
  CHECK(caps.enter("127.0.0.1:1"));
  CHECK(caps.enter("127.0.0.1:2"));
  CHECK_FALSE(caps.enter("127.0.0.1:3"));
  CHECK(caps.enter("[::1]:3"));
  CHECK(caps.enter("unix"));
  caps.leave("127.0.0.1:1");
  CHECK(caps.enter("127.0.0.1:3"));
  CHECK_FALSE(caps.enter("127.0.0.1:4"));
}

TEST_CASE("no limit counts nothing") {
  uint32_t most = 0;
  ConnectionCaps caps(most);
  for (int i = 0; i < 100; ++i)
    CHECK(caps.enter("127.0.0.1:1"));
  caps.leave("127.0.0.1:1");
}
