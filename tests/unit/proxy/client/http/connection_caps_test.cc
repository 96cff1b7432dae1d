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

TEST_CASE("a connection that counts at another address makes room at the first, or stays as it was") {
  ConnectionCaps caps;
  const auto enter = [&](const char* peer) {
    return caps.enter(peer, 100, 1) == ConnectionCaps::AdmitResult::welcome;
  };
  CHECK(enter("10.0.0.1:1"));
  CHECK(caps.rename("10.0.0.1:1", "192.0.2.7:5", 1));
  CHECK(enter("10.0.0.1:2"));
  CHECK_FALSE(caps.rename("10.0.0.1:2", "192.0.2.7:6", 1));
  CHECK_FALSE(enter("10.0.0.1:3"));
  CHECK(caps.rename("10.0.0.1:2", "10.0.0.1:9", 1));
  CHECK(enter("unix"));
  CHECK(caps.rename("unix", "192.0.2.8:1", 1));
  CHECK_FALSE(enter("192.0.2.8:2"));
  CHECK(caps.total() == 3);
  caps.leave("192.0.2.7:5");
  CHECK(enter("192.0.2.7:7"));
  CHECK(caps.total() == 3);
}
