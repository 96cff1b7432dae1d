#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "plugins/common/rate_limit_table.h"
#include "plugins/rate_limit/rate_limit_key.h"

using namespace lineward;
using namespace std::chrono_literals;
using plugins::Admittance;
using plugins::KeyPart;
using plugins::Rate;
using plugins::RateTable;

namespace {

constexpr int64_t kSecond = 1000000000;
constexpr int64_t kStart = 12345 * kSecond;

plugins::RateKey key(int number) {
  return plugins::rate_key(std::to_string(number));
}

}  // namespace

TEST_CASE("a bucket gives its burst at once and then one token per interval") {
  RateTable table({60, 60s, 5}, 100);
  for (uint64_t left : {4u, 3u, 2u, 1u, 0u}) {
    Admittance one = table.take(key(1), kStart);
    CHECK(one.allowed);
    CHECK(one.remaining == left);
  }
  Admittance refused = table.take(key(1), kStart);
  CHECK_FALSE(refused.allowed);
  CHECK(refused.retry_after == 1s);
  CHECK(refused.full_after == 5s);
  CHECK_FALSE(table.take(key(1), kStart + kSecond - 1).allowed);
  CHECK(table.take(key(1), kStart + kSecond).allowed);
  CHECK_FALSE(table.take(key(1), kStart + kSecond).allowed);
  CHECK(table.take(key(2), kStart).allowed);  // another's bucket
}

TEST_CASE("whatever the pattern of arrivals, no window of time sees more than burst and rate") {
  Rate rate{10, 1s, 4};
  RateTable table(rate, 10);
  std::vector<int64_t> passed;
  uint64_t seed = 7;
  int64_t now = kStart;
  for (int i = 0; i < 20000; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    now += static_cast<int64_t>((seed >> 33) % (kSecond / 20));
    if (table.take(key(1), now).allowed) passed.push_back(now);
  }
  REQUIRE(passed.size() > 1000);
  size_t first = 0;
  for (size_t last = 0; last < passed.size(); ++last) {
    while (passed[last] - passed[first] > kSecond)
      ++first;
    REQUIRE(last - first + 1 <= 10 + 4);
  }
}

TEST_CASE("a refused request costs nothing, and a clock that stands still gives nothing back") {
  RateTable table({1, 10s, 1}, 10);
  CHECK(table.take(key(1), kStart).allowed);
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(table.take(key(1), kStart + 9 * kSecond).allowed);
  CHECK(table.take(key(1), kStart + 10 * kSecond).allowed);
}

TEST_CASE("the table is bounded, keeps what is used, and forgets full buckets") {
  RateTable table({1, 3600s, 1}, 100);
  CHECK(table.take(key(0), kStart).allowed);
  for (int i = 1; i <= 1000; ++i) {
    CHECK(table.take(key(i), kStart).allowed);
    CHECK_FALSE(table.take(key(0), kStart).allowed);  // hammering keeps it in the table
    CHECK(table.size() <= 100);
  }
  CHECK(table.evicted() == 901);
  CHECK(table.bytes() > 100 * sizeof(plugins::RateKey));
  table.forget_idle(kStart + 3599 * kSecond, 1000);
  CHECK(table.size() == 100);
  table.forget_idle(kStart + 3600 * kSecond, 30);
  CHECK(table.size() == 70);
  table.forget_idle(kStart + 3600 * kSecond, 1000);
  CHECK(table.size() == 0);
  CHECK(table.evicted() == 901);
}

TEST_CASE("idle keys make room by themselves") {
  RateTable table({10, 1s, 1}, 1000000);
  for (int i = 0; i < 10000; ++i)
    CHECK(table.take(key(i), kStart + i * (kSecond / 100)).allowed);
  CHECK(table.size() < 20);
  CHECK(table.evicted() == 0);
}

TEST_CASE("threads that share a table take no more than its rate, and its parts hold no more keys") {
  constexpr size_t kMost = 8192;
  plugins::CommonTable table({.requests = 1, .per = std::chrono::hours(1), .burst = 100}, kMost);
  std::atomic<size_t> allowed{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&table, &allowed, k] {
      for (int i = 0; i < 1000; ++i) {
        allowed += table.take(plugins::rate_key("one caller"), 1).allowed ? 1 : 0;
        table.take(plugins::rate_key(std::to_string(k * 10000 + i)), 1);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(allowed == 100);
  CHECK(table.sizes().keys == 4001);
  CHECK(table.sizes().evicted == 0);
  for (size_t i = 0; i < 2 * kMost; ++i)
    table.take(plugins::rate_key("more" + std::to_string(i)), 2);
  CHECK(table.sizes().keys <= kMost);
  CHECK(table.sizes().keys > kMost - kMost / 10);
  CHECK(table.forget_idle(std::chrono::nanoseconds(std::chrono::hours(200)).count(), 3 * kMost) == 0);
}

TEST_CASE("keys: parts are named once, and two lists of values never make one key") {
  CHECK_FALSE(plugins::parse_key(""));
  CHECK_FALSE(plugins::parse_key("subject"));
  CHECK_FALSE(plugins::parse_key("tool+tool"));
  CHECK_FALSE(plugins::parse_key("tool+"));
  auto parts = plugins::parse_key("server+tool");
  REQUIRE(parts);
  REQUIRE(*parts == std::vector<KeyPart>{KeyPart::server, KeyPart::tool});

  plugin::RequestInfo a, b;
  a.method = b.method = mcp::Method::tools_call;
  a.upstream = "x;3:1:y";
  b.upstream = "x";
  a.target = "";
  b.target = "y;3:1:";
  CHECK(plugins::key_of(*parts, a) != plugins::key_of(*parts, b));
  a.upstream = "u1";
  a.target = "1x";
  b.upstream = "u11";
  b.target = "x";
  CHECK(plugins::key_of(*parts, a) != plugins::key_of(*parts, b));
  b.method = mcp::Method::tools_list;
  CHECK(plugins::key_of(*parts, b).empty());
}

TEST_CASE("a caller without a name counts by address, one with a name wherever it is") {
  std::vector<KeyPart> parts{KeyPart::principal};
  core::Caller ann;
  ann.principal = "ann";
  plugin::RequestInfo one, two;
  one.peer = "10.0.0.1:1";
  two.peer = "10.0.0.2:1";
  CHECK(plugins::key_of(parts, one) != plugins::key_of(parts, two));
  one.caller = two.caller = &ann;
  CHECK(plugins::key_of(parts, one) == plugins::key_of(parts, two));

  // A session's name is not a caller's, and a request without one still counts.
  std::vector<KeyPart> by_session{KeyPart::session};
  one.session = "ann";
  CHECK(plugins::key_of(by_session, one) != plugins::key_of(by_session, two));
  CHECK_FALSE(plugins::key_of(by_session, two).empty());

  // An initialize is in no session, though the one that it opens has its id by then.
  one.method = mcp::Method::initialize;
  one.peer = two.peer;
  CHECK(plugins::key_of(by_session, one) == plugins::key_of(by_session, two));
}

TEST_CASE("a bucket is its caller's own where a part of its key is") {
  for (const char* own : {"principal", "address", "session", "tool+principal", "server+tool+address"})
    CHECK(plugins::is_of_caller(*plugins::parse_key(own)));
  for (const char* common : {"tool", "server", "server+tool"})
    CHECK_FALSE(plugins::is_of_caller(*plugins::parse_key(common)));
}
