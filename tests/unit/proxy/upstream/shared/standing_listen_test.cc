// The rules of every listen that is to stand (behaviour.md 6).
#include "proxy/upstream/shared/standing_listen.h"

#include <catch2/catch.hpp>
#include <string>

using namespace lineward;
using namespace std::chrono_literals;
using upstream::StandingListen;

namespace {

constexpr Backoff::Range kPauses{100ms, 60000ms};

// Give or take a fifth.
bool about(std::chrono::milliseconds got, std::chrono::milliseconds wanted) {
  return got >= wanted * 8 / 10 && got <= wanted * 12 / 10;
}

}  // namespace

TEST_CASE("a listen holds its filter, and what was granted last") {
  StandingListen<std::string, int> listen(1, "tools");
  CHECK(listen.asked() == "tools");
  CHECK_FALSE(listen.is_up());
  listen.up(0ms, 7);
  CHECK(listen.granted() == 7);
  CHECK(listen.is_up());
  listen.down(1ms);
  CHECK_FALSE(listen.is_up());
  listen.up(2ms, 8);
  CHECK(listen.granted() == 8);
}

TEST_CASE("tries that are not good use up one budget, and their pauses grow") {
  StandingListen<> listen(3);
  std::chrono::milliseconds now{1000};
  SECTION("that it stood for a moment is no success") {
    for (auto wanted : {100ms, 200ms, 400ms}) {
      listen.up(now);
      listen.down(now += 9999ms);
      CHECK(listen.may_try_again());
      CHECK(about(listen.pause(now, kPauses), wanted));
    }
    listen.up(now);
    listen.down(now);
    CHECK_FALSE(listen.may_try_again());
    CHECK_FALSE(listen.may_try_again());  // and so it stays
  }
  SECTION("that it stood long is one") {
    CHECK(listen.may_try_again());
    CHECK(listen.may_try_again());
    listen.pause(now, kPauses);
    listen.up(now);
    listen.down(now += 10000ms);
    CHECK(listen.failures() == 0);
    CHECK(about(listen.pause(now, kPauses), 100ms));
  }
  SECTION("that it brought what was asked for is one, unless it flooded its stream") {
    const bool flooded = GENERATE(false, true);
    CHECK(listen.may_try_again());
    listen.pause(now, kPauses);
    listen.brought();  // nothing stands that could have brought it
    CHECK(listen.failures() == 1);
    listen.up(now);
    listen.brought();
    if (flooded) listen.spoiled();
    listen.down(now);
    CHECK(about(listen.pause(now, kPauses), flooded ? 200ms : 100ms));
  }
  SECTION("a lack of room does not count") {
    for (int i = 0; i < 10; ++i)
      CHECK(listen.may_try_again(false));
    CHECK(listen.failures() == 0);
  }
  SECTION("for another caller it begins anew") {
    for (int i = 0; i < 4; ++i)
      listen.may_try_again();
    listen.forgive();
    CHECK(listen.may_try_again());
  }
  SECTION("what a lower layer has used up is used up") {
    listen.use_up();
    CHECK_FALSE(listen.may_try_again());
    listen.up(now);
    listen.brought();
    CHECK(listen.may_try_again());
  }
}

TEST_CASE("what may have changed is told once for a loss, when the listen stands again") {
  StandingListen<> listen;
  listen.up(0ms);
  CHECK_FALSE(listen.owes_changes());
  CHECK(listen.down(1ms));
  CHECK_FALSE(listen.take_changes());  // nothing stands
  listen.up(2ms);
  CHECK(listen.owes_changes());
  CHECK(listen.take_changes());
  CHECK_FALSE(listen.take_changes());
  // Lost again at once: the same loss.
  CHECK_FALSE(listen.down(3ms));
  listen.up(4ms);
  CHECK_FALSE(listen.take_changes());
  SECTION("what was missed in it is told when it has brought something") {
    listen.brought();
    CHECK(listen.take_changes());
    CHECK(listen.down(5ms));
    listen.up(6ms);
    CHECK(listen.take_changes());
  }
  SECTION("or has stood long") {
    CHECK_FALSE(listen.has_lasted(10003ms));
    CHECK(listen.has_lasted(10004ms));
    listen.lasted();
    CHECK(listen.take_changes());
  }
  SECTION("or with the next loss") {
    CHECK(listen.down(20000ms));
    listen.up(20001ms);
    CHECK(listen.take_changes());
    listen.brought();
    CHECK_FALSE(listen.take_changes());
  }
}

TEST_CASE("a second report of a loss, a stream that is resumed and one that is not wanted are no losses") {
  StandingListen<> listen;
  CHECK_FALSE(listen.down(0ms));
  listen.up(0ms);
  SECTION("resumed") {
    CHECK_FALSE(listen.down(1ms, StandingListen<>::Gap::resumes));
    listen.up(2ms);
    CHECK_FALSE(listen.owes_changes());
    CHECK(listen.down(3ms));
  }
  SECTION("not wanted") {
    listen.pause(0ms, kPauses);
    listen.withdraw();
    CHECK_FALSE(listen.down(1ms));
    CHECK(about(listen.pause(1ms, kPauses), 100ms));
    listen.up(2ms);
    CHECK_FALSE(listen.owes_changes());
  }
  SECTION("lost by other means: told whatever it was") {
    listen.miss();
    CHECK(listen.take_changes());
    listen.miss();
    listen.miss_nothing();
    CHECK_FALSE(listen.take_changes());
  }
}
