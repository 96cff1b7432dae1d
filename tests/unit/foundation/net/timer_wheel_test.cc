#include "foundation/net/timer_wheel.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using lineward::net::TimerWheel;

namespace {

struct Named : TimerWheel::Entry {
  int name = 0;
};

std::vector<int> advance(TimerWheel& wheel, uint64_t now) {
  std::vector<int> fired;
  wheel.advance(now, [&](TimerWheel::Entry& entry) { fired.push_back(static_cast<Named&>(entry).name); });
  return fired;
}

}  // namespace

TEST_CASE("timers fire at their millisecond, by deadline and then by start") {
  TimerWheel wheel;
  Named a, b, c, d;
  a.name = 1, b.name = 2, c.name = 3, d.name = 4;
  CHECK(wheel.next() == TimerWheel::kNever);
  wheel.start(a, 100);
  wheel.start(b, 5);
  wheel.start(c, 100);
  CHECK(wheel.next() <= 5);
  CHECK(advance(wheel, 4).empty());
  CHECK(advance(wheel, 5) == std::vector{2});
  CHECK(advance(wheel, 99).empty());
  wheel.start(d, 100);  // the latest of three for the same moment
  CHECK(advance(wheel, 100) == std::vector{1, 3, 4});
  CHECK_FALSE(a.running());
  CHECK(advance(wheel, 1'000'000).empty());
}

TEST_CASE("what was stopped does not fire, not even by a timer before it") {
  TimerWheel wheel;
  Named a, b;
  wheel.start(a, 10);
  wheel.start(b, 10);
  int fired = 0;
  wheel.advance(10, [&](TimerWheel::Entry& entry) {
    ++fired;
    CHECK(&entry == &a);
    TimerWheel::stop(b);
  });
  CHECK(fired == 1);
  CHECK_FALSE(b.running());
}

TEST_CASE("a timer that restarts itself at once waits for the next call") {
  TimerWheel wheel;
  Named a;
  wheel.start(a, 0);
  for (int round = 0; round < 3; ++round) {
    int fired = 0;
    wheel.advance(7, [&](TimerWheel::Entry& entry) {
      ++fired;
      wheel.start(entry, 7);
    });
    CHECK(fired == 1);
    CHECK(wheel.next() <= 7);
  }
  TimerWheel::stop(a);
}

// Against a sorted map that does the same slowly.
TEST_CASE("as a sorted map of timers would have it") {
  const auto seed = GENERATE(range(1u, 21u));
  std::mt19937_64 random(seed);
  TimerWheel wheel;
  std::vector<std::unique_ptr<Named>> timers;
  std::map<std::pair<uint64_t, uint64_t>, int> model;  // deadline, order of start
  std::vector<std::pair<uint64_t, uint64_t>> key(64);
  uint64_t now = seed % 2 == 0 ? 0 : random() >> 20;
  uint64_t order = 0;
  for (int i = 0; i < 64; ++i) {
    timers.push_back(std::make_unique<Named>());
    timers.back()->name = i;
  }
  const auto start = [&](int i, uint64_t deadline) {
    TimerWheel::stop(*timers[i]);
    model.erase(key[i]);
    wheel.start(*timers[i], deadline);
    key[i] = {deadline, ++order};
    model[key[i]] = i;
  };
  advance(wheel, now);
  for (int step = 0; step < 3000; ++step) {
    const int i = static_cast<int>(random() % timers.size());
    const uint64_t wait = random() >> (random() % 64);
    switch (random() % 4) {
      case 0: start(i, now + wait % (uint64_t{1} << 40)); break;
      case 1: start(i, now + wait % 300); break;
      case 2:
        TimerWheel::stop(*timers[i]);
        model.erase(key[i]);
        break;
      default: {
        now += random() % 8 == 0 ? wait % (uint64_t{1} << 34) : wait % 200;
        if (!model.empty()) REQUIRE(wheel.next() <= model.begin()->first.first);
        std::vector<int> expected;
        while (!model.empty() && model.begin()->first.first <= now) {
          expected.push_back(model.begin()->second);
          model.erase(model.begin());
        }
        REQUIRE(advance(wheel, now) == expected);
        if (!model.empty()) REQUIRE(wheel.next() > now);
        if (!model.empty()) REQUIRE(wheel.next() <= model.begin()->first.first);
      }
    }
  }
  for (auto& timer : timers)
    TimerWheel::stop(*timer);
}
