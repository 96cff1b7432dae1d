#include "foundation/net/networks.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::net;

namespace {

Networks networks(const std::vector<std::string>& entries) {
  auto parsed = Networks::parse(entries);
  REQUIRE(parsed);
  return *parsed;
}

std::string fault(const std::string& entry) {
  auto parsed = Networks::parse({entry});
  return parsed ? std::string() : parsed.error().text;
}

}  // namespace

TEST_CASE("a peer is in a network by its address, with or without its port") {
  const Networks some = networks({"10.0.0.0/8", "192.0.2.7", "2001:db8::/33", "172.16.32.0/20"});
  for (const char* in :
       {"10.0.0.0:1", "10.255.255.255", "192.0.2.7:443", "[2001:db8:7fff::1]:80",
        "2001:db8::", "[2001:db8::1]", "172.16.47.255:1", "[::ffff:10.1.2.3]:9", "[2001:db8::1%eth0]:80"})
    CHECK(some.contains(std::string_view(in)));
  for (const char* out : {"11.0.0.0:1", "9.255.255.255:1", "192.0.2.8:443", "[2001:db8:8000::1]:80", "unix",
                          "", "172.16.48.0:1", "somebody", "[10.0.0.1", "stdio", "10.0.0.1.5:1"})
    CHECK_FALSE(some.contains(std::string_view(out)));
}

TEST_CASE("a mapped IPv4 network is that IPv4 network, and IPv4 is no part of one of IPv6") {
  CHECK(networks({"::ffff:10.0.0.0/104"}).contains(std::string_view("10.9.9.9:1")));
  CHECK_FALSE(networks({"::ffff:10.0.0.0/104"}).contains(std::string_view("11.9.9.9:1")));
  const Networks all_v6 = networks({"::/0"});
  CHECK(all_v6.contains(std::string_view("[2001:db8::1]:1")));
  CHECK_FALSE(all_v6.contains(std::string_view("10.0.0.1:1")));
  CHECK(all_v6.has_everyone());
  const Networks all_v4 = networks({"0.0.0.0/0"});
  CHECK(all_v4.contains(std::string_view("10.0.0.1:1")));
  CHECK_FALSE(all_v4.contains(std::string_view("[2001:db8::1]:1")));
  CHECK(all_v4.has_everyone());
  CHECK_FALSE(networks({"0.0.0.0/1", "10.0.0.1"}).has_everyone());
}

TEST_CASE("clients of a Unix socket are named by a word") {
  CHECK(networks({"unix"}).contains(std::string_view("unix")));
  CHECK_FALSE(networks({"unix"}).contains(std::string_view("127.0.0.1:1")));
  CHECK_FALSE(networks({"127.0.0.1"}).contains(std::string_view("unix")));
  CHECK(Networks().empty());
  CHECK_FALSE(networks({"unix"}).empty());
}

TEST_CASE("an entry that is no network is named") {
  CHECK(fault("example.com").find("'example.com' is no network: write 10.0.0.0/8") == 0);
  CHECK(fault("10.0.0.0/33").find("0 to 32") != std::string::npos);
  CHECK(fault("2001:db8::/129").find("0 to 128") != std::string::npos);
  CHECK(fault("10.0.0.1/8").find("has bits behind the first 8") != std::string::npos);
  for (const char* wrong : {"", "/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8 ", "10.0.0", "010.0.0.0/8",
                            "[::1]", "10.0.0.1:80", "fe80::1%eth0", "10.0.0.0/8/8", "Unix", "10.0.0.0/ 8"})
    CHECK_FALSE(fault(wrong).empty());
  CHECK_FALSE(fault(std::string("10.0.0.1\0", 9)).empty());
}

TEST_CASE("an address is written as a peer") {
  CHECK(IpAddress::parse("192.0.2.7")->as_peer(80) == "192.0.2.7:80");
  CHECK(IpAddress::parse("::ffff:192.0.2.7")->as_peer({}) == "192.0.2.7");
  CHECK(IpAddress::parse("2001:DB8::1")->as_peer(443) == "[2001:db8::1]:443");
  CHECK(IpAddress::parse("2001:db8:0::1")->as_peer({}) == "[2001:db8::1]");
  CHECK_FALSE(IpAddress::from_bytes("abc"));
}
