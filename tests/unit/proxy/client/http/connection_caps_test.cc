#include "proxy/client/http/connection_caps.h"

#include <catch2/catch.hpp>

using lineward::client::ConnectionCaps;

TEST_CASE("connections are counted by address, whatever their port") {
  const auto enter = [](ConnectionCaps& caps, const char* peer) {
    return caps.enter(peer, 100, 2) == ConnectionCaps::AdmitResult::welcome;
  };
  ConnectionCaps caps;
  CHECK(enter(caps, "127.0.0.1:1"));
  CHECK(enter(caps, "127.0.0.1:2"));
  CHECK_FALSE(enter(caps, "127.0.0.1:3"));
  CHECK(enter(caps, "[::1]:3"));
  CHECK(enter(caps, "unix"));
  caps.leave("127.0.0.1:1");
  CHECK(enter(caps, "127.0.0.1:3"));
  CHECK_FALSE(enter(caps, "127.0.0.1:4"));
}

TEST_CASE("an IPv6 network is one address, and a Unix socket none") {
  const auto enter = [](ConnectionCaps& caps, const char* peer) {
    return caps.enter(peer, 1000, 1) == ConnectionCaps::AdmitResult::welcome;
  };
  ConnectionCaps caps;
  CHECK(enter(caps, "[2001:db8:1:2::7]:1"));
  CHECK_FALSE(enter(caps, "[2001:db8:1:2::8]:1"));
  CHECK(enter(caps, "[2001:db8:1:3::8]:1"));
  for (int i = 0; i < 100; ++i)
    CHECK(enter(caps, "unix"));
  caps.leave("[2001:db8:1:2::7]:1");
  CHECK(enter(caps, "[2001:db8:1:2::8]:1"));
}
