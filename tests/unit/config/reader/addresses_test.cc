#include "config/reader/addresses.h"

#include <catch2/catch.hpp>

using lineward::config::same_place;

TEST_CASE("two addresses are the same place when only one of them can be listened on") {
  CHECK(same_place("127.0.0.1:80", "127.0.0.1:80"));
  CHECK(same_place("localhost:80", "127.0.0.1:80"));
  CHECK(same_place(":80", "127.0.0.1:80"));
  CHECK(same_place("10.0.0.1:80", "0.0.0.0:80"));
  CHECK(same_place("[::]:80", "127.0.0.1:80"));
  CHECK(same_place("unix:/a", "unix:/a"));
  CHECK_FALSE(same_place("127.0.0.1:80", "127.0.0.1:81"));
  CHECK_FALSE(same_place("127.0.0.1:80", "127.0.0.2:80"));
  CHECK_FALSE(same_place("[::1]:80", "127.0.0.1:80"));
  CHECK_FALSE(same_place("127.0.0.1:0", "127.0.0.1:0"));
  CHECK_FALSE(same_place("unix:/a", "unix:/b"));
  CHECK_FALSE(same_place("unix:/a:80", "127.0.0.1:80"));
  CHECK_FALSE(same_place("127.0.0.1:80", "unix:/a:80"));
  for (const char* word : {"off", "auto", "stdio"})
    CHECK_FALSE(same_place(word, word));
}
