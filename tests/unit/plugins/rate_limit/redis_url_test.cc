#include <catch2/catch.hpp>

#include "plugins/rate_limit/redis_url.h"

using namespace lineward;
using plugins::parse_redis_url;

TEST_CASE("where a Redis is") {
  auto plain = parse_redis_url("redis://cache.internal");
  REQUIRE(plain);
  CHECK(plain->host == "cache.internal");
  CHECK(plain->port == 6379);
  CHECK_FALSE(plain->tls);
  auto full = parse_redis_url("rediss://ann:p%40ss%3a/@[2001:db8::1]:6380/3");
  CHECK_FALSE(full);  // a slash has to be encoded
  full = parse_redis_url("rediss://ann:p%40ss%3a%2F@[2001:db8::1]:6380/3");
  REQUIRE(full);
  CHECK(full->tls);
  CHECK(full->user == "ann");
  CHECK(full->password == "p@ss:/");
  CHECK(full->host == "2001:db8::1");
  CHECK(full->port == 6380);
  CHECK(full->db == 3);
  auto unix_socket = parse_redis_url("unix:/run/redis.sock?db=2");
  REQUIRE(unix_socket);
  CHECK(unix_socket->unix_path == "/run/redis.sock");
  CHECK(unix_socket->db == 2);
  auto secret = parse_redis_url("unix://:word@/run/redis.sock");
  REQUIRE(secret);
  CHECK(secret->unix_path == "/run/redis.sock");
  CHECK(secret->password == "word");
}

TEST_CASE("a URL that is none is refused without being repeated") {
  for (const char* text :
       {"", "http://h", "redis://", "redis://:secret@", "redis://secret@h", "redis://:secret@h:x",
        "redis://h:0", "redis://h:65536", "redis://h/x", "redis://:se%zzcret@h", "unix:secret",
        "unix:", "unix:/x?x=secret", "redis://[::1", "redis://h?secret", "redis://:secret@h:1:2"}) {
    auto url = parse_redis_url(text);
    INFO(text);
    REQUIRE_FALSE(url);
    CHECK(url.error().text.find("secret") == std::string::npos);
  }
}
