#include "foundation/log/paced.h"

#include <catch2/catch.hpp>

using lineward::log::Paced;
using std::chrono::milliseconds;

TEST_CASE("the first few lines are written, then one a second with how many were left out") {
  Paced lines;
  for (uint32_t i = 0; i < Paced::kWhole; ++i)
    CHECK(lines.next(milliseconds(0)) == 0);
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(lines.next(milliseconds(999)).has_value());
  CHECK(lines.next(milliseconds(1000)) == 100);
  CHECK_FALSE(lines.next(milliseconds(1999)).has_value());
  CHECK(lines.next(milliseconds(2000)) == 1);
}

TEST_CASE("after a quiet time the first few are written again") {
  Paced lines;
  for (int i = 0; i < 50; ++i)
    lines.next(milliseconds(0));
  CHECK(lines.next(milliseconds(20000)) == 45);
  for (uint32_t i = 1; i < Paced::kWhole; ++i)
    CHECK(lines.next(milliseconds(20000)) == 0);
  CHECK_FALSE(lines.next(milliseconds(20000)).has_value());
}
