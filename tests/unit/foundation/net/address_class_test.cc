#include "foundation/net/address_class.h"

#include <arpa/inet.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

namespace lineward::net {
namespace {

bool is_public(const std::string& text) {
  sockaddr_storage storage{};
  if (text.find(':') != std::string::npos) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    v6.sin6_family = AF_INET6;
    REQUIRE(inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1);
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    v4.sin_family = AF_INET;
    REQUIRE(inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1);
  }
  return net::is_public(reinterpret_cast<const sockaddr&>(storage));
}

}  // namespace

TEST_CASE("addresses of this machine, of links and of private networks are not public") {
  for (const char* text : {"127.0.0.1",
                           "127.255.0.9",
                           "0.0.0.0",
                           "10.1.2.3",
                           "100.64.0.1",
                           "100.127.255.255",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.168.1.1",
                           "192.0.0.8",
                           "198.18.0.1",
                           "198.19.255.255",
                           "224.0.0.1",
                           "255.255.255.255",
                           "::1",
                           "::",
                           "fe80::1",
                           "fc00::1",
                           "fd12:3456::1",
                           "ff02::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "64:ff9b::10.0.0.1",
                           "2002:7f00:1::",
                           "2001:db8::1",
                           "::127.0.0.1"}) {
    INFO(text);
    CHECK_FALSE(is_public(text));
  }
}

TEST_CASE("the others are") {
  for (const char* text : {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
                           "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
                           "223.255.255.255", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"}) {
    INFO(text);
    CHECK(is_public(text));
  }
}

}  // namespace lineward::net
