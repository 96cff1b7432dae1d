#include "upstream/spawn_budget.h"

#include <catch2/catch.hpp>

#include "upstream/circuit_breaker.h"

using namespace lineward;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using upstream::CircuitBreaker;
using upstream::SpawnBudget;

namespace {

// Starts whenever it may, and each dies `lives` later; how many were started, second by second.
std::vector<int> crash_loop(const config::Restart& restart, milliseconds lives, bool answers, int groups) {
  SpawnBudget budget(restart);
  std::vector<int> starts(60);
  std::vector<milliseconds> deaths(static_cast<size_t>(groups), milliseconds(-1));
  for (milliseconds now = 1000000ms; now < 1060000ms; ++now) {
    for (auto& death : deaths) {
      if (death == now) {
        budget.died(now, answers, lives);
        death = milliseconds(-1);
      }
      if (death.count() >= 0 || budget.wait(now).count() > 0) continue;
      budget.started(now);
      if (answers) budget.answered();
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
    auto starts = crash_loop({}, 5ms, false, groups);
    CHECK(most_after(starts, 10) <= 1);
    int sum = 0;
    for (int one : starts)
      sum += one;
    CHECK(sum < 12 + groups);  // the first of each group, then 200 ms doubling
  }
}

TEST_CASE("what answers and dies young all the same is started once a second at most, too") {
  for (int groups : {1, 8}) {
    auto starts = crash_loop({}, 5ms, true, groups);
    CHECK(most_after(starts, 10) <= 1);
    CHECK(starts[30] + starts[31] + starts[32] > 0);  // and goes on
  }
}

TEST_CASE("an answer ends the pauses, a long life costs nothing") {
  config::Restart restart;
  SpawnBudget budget(restart);
  budget.died(1000ms, false, 5ms);
  CHECK(budget.wait(1000ms) >= 160ms);
  CHECK(budget.wait(1000ms) <= 240ms);
  budget.answered();
  CHECK(budget.wait(1000ms) == 0ms);
  for (int i = 0; i < 100; ++i)
    budget.died(2000ms, true, 11s);
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
