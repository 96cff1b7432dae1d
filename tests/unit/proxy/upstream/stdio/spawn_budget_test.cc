#include <catch2/catch.hpp>

#include "proxy/upstream/stdio/stdio_health.h"

using namespace lineward;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using upstream::CircuitBreaker;
using upstream::Proof;
using upstream::SpawnBudget;

namespace {

// Starts whenever it may, and each dies `lives` later; how many were started, second by second.
std::vector<int> crash_loop(const config::Restart& restart, milliseconds lives, Proof proof, int groups) {
  SpawnBudget budget(restart);
  std::vector<int> starts(60);
  std::vector<milliseconds> deaths(static_cast<size_t>(groups), milliseconds(-1));
  for (milliseconds now = 1000000ms; now < 1060000ms; ++now) {
    for (auto& death : deaths) {
      if (death == now) {
        budget.died(now, proof, lives);
        death = milliseconds(-1);
      }
      if (death.count() >= 0 || budget.wait(now).count() > 0) continue;
      budget.started(now);
      if (proof != Proof::none) budget.answered();
      ++starts[static_cast<size_t>((now - 1000000ms).count() / 1000)];
      death = now + lives;
    }
  }
  return starts;
}

int most_after(const std::vector<int>& starts, size_t second) {
  return *std::max_element(starts.begin() + static_cast<std::ptrdiff_t>(second), starts.end());
}

}  // namespace

TEST_CASE("what never answers is started once a second at most after ten seconds, all groups together") {
  for (int groups : {1, 50}) {
    auto starts = crash_loop({}, 5ms, Proof::none, groups);
    CHECK(most_after(starts, 10) <= 1);
    int sum = 0;
    for (int one : starts)
      sum += one;
    CHECK(sum < 12 + groups);  // the first of each group, then 200 ms doubling
  }
}

TEST_CASE("what answers its handshake and dies at the first call is started once a second at most, too") {
  for (int groups : {1, 8}) {
    auto starts = crash_loop({}, 5ms, Proof::answered, groups);
    CHECK(most_after(starts, 10) <= 1);
    CHECK(starts[30] + starts[31] + starts[32] > 0);  // and goes on
  }
}

TEST_CASE("what did its work and is killed then is started four times a second at most") {
  for (int groups : {1, 8, 50}) {
    auto starts = crash_loop({}, 5ms, Proof::served, groups);
    CHECK(most_after(starts, 10) <= 4);
    CHECK(starts[30] + starts[31] + starts[32] >= 10);
  }
}

TEST_CASE(
    "the death of a process that did its work holds the next start back by a quarter of a second at most") {
  SpawnBudget budget(config::Restart{});
  milliseconds now = 1000000ms;
  for (int i = 0; i < 1000; ++i) {
    budget.started(now);
    budget.answered();
    now += 5ms;
    budget.died(now, Proof::served, 5ms);
    REQUIRE(budget.wait(now) <= 251ms);
    now += budget.wait(now);
    REQUIRE(budget.wait(now) == 0ms);
  }
}

TEST_CASE("a server that worked once and then dies at its handshake is a crash loop like any other") {
  SpawnBudget budget(config::Restart{});
  budget.died(1000000ms, Proof::served, 5ms);
  CHECK(budget.wait(1000000ms) == 0ms);
  for (int i = 0; i < 10; ++i)
    budget.died(1000001ms, Proof::answered, 5ms);
  CHECK(budget.wait(1000001ms) > 900ms);
}

TEST_CASE("an answer ends the pauses, a long life costs nothing") {
  config::Restart restart;
  SpawnBudget budget(restart);
  budget.died(1000ms, Proof::none, 5ms);
  CHECK(budget.wait(1000ms) >= 160ms);
  CHECK(budget.wait(1000ms) <= 240ms);
  budget.answered();
  CHECK(budget.wait(1000ms) == 0ms);
  for (int i = 0; i < 100; ++i)
    budget.died(2000ms, Proof::answered, 11s);
  CHECK(budget.wait(2000ms) == 0ms);
}

TEST_CASE("pauses double up to the longest, with a fifth of jitter") {
  config::Restart restart;
  milliseconds expected = 200ms;
  for (uint32_t failures = 1; failures < 20;
       ++failures, expected = std::min<milliseconds>(expected * 2, 30s)) {
    for (int i = 0; i < 20; ++i) {
      milliseconds wait = upstream::backoff_after(restart, failures);
      CHECK(wait >= expected * 80 / 100);
      CHECK(wait <= expected * 120 / 100);
    }
  }
}

TEST_CASE("a circuit opens after failures in a row, lets one try, and closes by its answer") {
  config::CircuitBreaker limits{3, 100ms};
  CircuitBreaker breaker(limits);
  CHECK_FALSE(breaker.failed(0ms, "a"));
  CHECK_FALSE(breaker.failed(0ms, "b"));
  breaker.succeeded();
  CHECK_FALSE(breaker.failed(0ms, "a"));
  CHECK_FALSE(breaker.failed(0ms, "b"));
  CHECK(breaker.failed(0ms, "c"));
  CHECK_FALSE(breaker.closed());
  CHECK_FALSE(breaker.failed(50ms, "one that was under way"));
  CHECK_FALSE(breaker.try_now(99ms));
  CHECK(breaker.wait(99ms) == 1ms);
  CHECK(breaker.try_now(100ms));
  CHECK_FALSE(breaker.try_now(100ms));  // one at a time
  breaker.withdrawn();
  CHECK(breaker.try_now(101ms));
  CHECK(breaker.failed(110ms, "d"));
  CHECK_FALSE(breaker.try_now(209ms));
  CHECK(breaker.try_now(210ms));
  CHECK(breaker.close());
  CHECK(breaker.closed());
  CHECK(breaker.try_now(211ms));
  CHECK_FALSE(breaker.close());
}

TEST_CASE("a circuit with 0 failures never opens; a refusal says when to come back") {
  config::CircuitBreaker never{0, 100ms};
  CircuitBreaker closed(never);
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(closed.failed(0ms, "a"));
  config::CircuitBreaker one{1, 2500ms};
  CircuitBreaker open(one);
  CHECK(open.failed(0ms, "exited with code 1"));
  core::Failure refusal = open.refusal("s", 1ms);
  CHECK(refusal.reason == mcp::EndReason::circuit_open);
  CHECK(refusal.retry_after_ms == 2499);
  CHECK(refusal.headers == core::HeaderFields{{"Retry-After", "3"}});
  CHECK(refusal.text.find("exited with code 1") != std::string::npos);
}
