#include "client/caller_account.h"

#include <catch2/catch.hpp>

using lineward::client::account_of;
using lineward::client::address_for_shares;

TEST_CASE("who shares an address: the port is nobody's, of IPv6 a /64 is one, a mapped IPv4 is that IPv4") {
  CHECK(address_for_shares("127.0.0.1:51234") == "127.0.0.1");
  CHECK(address_for_shares("[::1]:51234") == "::/64");
  CHECK(address_for_shares("[2001:db8:1:2:3:4:5:6]:1") == "2001:db8:1:2::/64");
  CHECK(address_for_shares("[2001:db8:1:2:ffff::]:1") == address_for_shares("[2001:db8:1:2::1]:2"));
  CHECK(address_for_shares("[2001:db8:1:3::1]:2") != address_for_shares("[2001:db8:1:2::1]:2"));
  CHECK(address_for_shares("[::ffff:192.0.2.7]:1") == "192.0.2.7");
  CHECK(address_for_shares("[fe80::1%eth0]:1") == "fe80::/64");
  CHECK(address_for_shares("unix") == "unix");
}

TEST_CASE("a principal is the same from every address, and never an address") {
  auto caller = std::make_shared<lineward::core::Caller>();
  caller->principal = "127.0.0.1";
  auto mine = account_of(caller, "127.0.0.1:1");
  CHECK(account_of(caller, "192.0.2.7:9") == mine);
  CHECK(account_of(nullptr, "127.0.0.1:1") != mine);
  auto nobody = std::make_shared<lineward::core::Caller>();
  nobody->principal = "anonymous";
  CHECK(account_of(nobody, "127.0.0.1:2")->name() == "address 127.0.0.1");
}
