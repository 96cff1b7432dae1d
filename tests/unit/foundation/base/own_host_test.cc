#include "foundation/base/own_host.h"

#include <catch2/catch.hpp>

using namespace lineward;

TEST_CASE("this machine is known by its addresses, and by no name but localhost") {
  for (const char* own : {"localhost", "LocalHost", "127.0.0.1", "127.255.0.9", "::1", "[::1]"}) {
    INFO(own);
    CHECK(is_own_host(own));
  }
  for (const char* other :
       {"", "127.", "127.1", "127.0.0.1.example", "127.evil.example.com", "127.0.0.256", "128.0.0.1",
        "localhost.example", "localhos", "[::1", "[::2]", "0.0.0.0", "127.0.0.1 "}) {
    INFO(other);
    CHECK_FALSE(is_own_host(other));
  }
  CHECK_FALSE(is_own_host(std::string_view("127.0.0.1\0x", 11)));
}

TEST_CASE("the host of a URL stands behind its scheme, without a port, and behind no user") {
  CHECK(host_of_url("http://localhost") == "localhost");
  CHECK(host_of_url("http://127.0.0.1:80/x:1@y") == "127.0.0.1");
  CHECK(host_of_url("https://[::1]:80?x") == "[::1]");
  for (const char* none : {"", "localhost", "http://127.0.0.1:80@evil.example/", "http://[::1/",
                           "http://[::1]x/", "http://127.0.0.1\\.evil.example/"}) {
    INFO(none);
    CHECK(host_of_url(none).empty());
  }
}
