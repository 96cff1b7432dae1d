#include "operate/admin/token_pauses.h"

#include <catch2/catch.hpp>
#include <string>

using lineward::admin::SignInPauses;
using lineward::admin::TokenPauses;
using std::chrono::milliseconds;

TEST_CASE("different wrong tokens cost their address a pause, and no other address") {
  TokenPauses pauses;
  const milliseconds now{1000};
  for (int i = 0; i < 5; ++i) {
    CHECK(pauses.left("10.0.0.1:1", "right", now).count() == 0);
    pauses.failed("10.0.0.1:1", "wrong" + std::to_string(i), now);
  }
  CHECK(pauses.left("10.0.0.1:2", "right", now) == SignInPauses::kFirst);
  CHECK(pauses.left("10.0.0.2:2", "right", now).count() == 0);
  CHECK(pauses.left("10.0.0.1:2", "right", now + SignInPauses::kFirst).count() == 0);
}

TEST_CASE("one wrong token that comes again and again waits alone") {
  TokenPauses pauses;
  const milliseconds now{1000};
  for (int i = 0; i < 50; ++i)
    pauses.failed("10.0.0.1:1", "old", now);
  CHECK(pauses.left("10.0.0.1:1", "old", now) == SignInPauses::kLongest);
  CHECK(pauses.left("10.0.0.1:1", "new", now).count() == 0);
}

TEST_CASE("a token that was let in before is let in while its address waits, until it is wrong") {
  TokenPauses pauses;
  const milliseconds now{1000};
  pauses.succeeded("10.0.0.1:1", "right");
  for (int i = 0; i < 9; ++i) {
    pauses.failed("10.0.0.1:1", "wrong" + std::to_string(i), now);
    pauses.succeeded("10.0.0.1:1", "right");  // is no fresh start for guesses
  }
  CHECK(pauses.left("10.0.0.1:1", "right", now).count() == 0);
  CHECK(pauses.left("10.0.0.1:1", "other", now).count() > 0);
  pauses.failed("10.0.0.1:1", "right", now);
  CHECK(pauses.left("10.0.0.1:1", "right", now).count() > 0);
}

TEST_CASE("however many tokens are let in, the newest are known") {
  TokenPauses pauses;
  const milliseconds now{1000};
  for (int i = 0; i < 1000; ++i)
    pauses.succeeded("10.0.0.1:1", "t" + std::to_string(i));
  for (int i = 0; i < 9; ++i)
    pauses.failed("10.0.0.1:1", "wrong" + std::to_string(i), now);
  CHECK(pauses.left("10.0.0.1:1", "t0", now).count() > 0);
  CHECK(pauses.left("10.0.0.1:1", "t999", now).count() == 0);
}
