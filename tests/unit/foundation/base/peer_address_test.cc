#include "foundation/base/peer_address.h"

#include <catch2/catch.hpp>

using lineward::address_of_peer;

TEST_CASE(
    "callers with a shared address: the port does not count, of IPv6 a /64 is one, a mapped IPv4 is that "
    "IPv4") {
  CHECK(address_of_peer("127.0.0.1:51234") == "127.0.0.1");
  CHECK(address_of_peer("[::1]:51234") == "::/64");
  CHECK(address_of_peer("[2001:db8:1:2:3:4:5:6]:1") == "2001:db8:1:2::/64");
  CHECK(address_of_peer("[2001:db8:1:2:ffff::]:1") == address_of_peer("[2001:db8:1:2::1]:2"));
  CHECK(address_of_peer("[2001:db8:1:3::1]:2") != address_of_peer("[2001:db8:1:2::1]:2"));
  CHECK(address_of_peer("[::ffff:192.0.2.7]:1") == "192.0.2.7");
  CHECK(address_of_peer("[fe80::1%eth0]:1") == "fe80::/64");
  CHECK(address_of_peer("192.0.2.7") == "192.0.2.7");
  CHECK(address_of_peer("[2001:db8:1:2::1]") == "2001:db8:1:2::/64");
  CHECK(address_of_peer("unix") == "unix");
  CHECK(address_of_peer("stdio") == "stdio");
}
