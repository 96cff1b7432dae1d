#include "operate/admin/sign_in_pauses.h"

#include <catch2/catch.hpp>
#include <string>

using lineward::admin::SignInPauses;
using std::chrono::milliseconds;

TEST_CASE("wrong tokens cost a pause that doubles, for their address alone") {
  SignInPauses pauses;
  milliseconds now{1000};
  for (int i = 0; i < 4; ++i)
    pauses.failed("10.0.0.1:" + std::to_string(4000 + i), now);
  CHECK(pauses.left("10.0.0.1:5000", now).count() == 0);
  pauses.failed("10.0.0.1:5001", now);
  CHECK(pauses.left("10.0.0.1:5002", now) == SignInPauses::kFirst);
  CHECK(pauses.left("10.0.0.2:5002", now).count() == 0);
  now += SignInPauses::kFirst;
  CHECK(pauses.left("10.0.0.1:5002", now).count() == 0);
  pauses.failed("10.0.0.1:5001", now);
  CHECK(pauses.left("10.0.0.1:1", now) == 2 * SignInPauses::kFirst);
  for (int i = 0; i < 100; ++i)
    pauses.failed("10.0.0.1:1", now);
  CHECK(pauses.left("10.0.0.1:1", now) == SignInPauses::kLongest);
  pauses.succeeded("10.0.0.1:2");
  CHECK(pauses.left("10.0.0.1:1", now).count() == 0);
}

TEST_CASE("however many addresses fail, the newest of them are known") {
  SignInPauses pauses;
  const milliseconds now{1000};
  for (int i = 0; i < 5000; ++i) {
    for (int times = 0; times < 6; ++times)
      pauses.failed("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ":1", now);
  }
  CHECK(pauses.left("10.0.0.1:1", now).count() == 0);
  CHECK(pauses.left("10.0.19.249:1", now).count() > 0);
}
