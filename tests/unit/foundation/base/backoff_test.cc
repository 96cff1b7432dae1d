#include "foundation/base/backoff.h"

#include <catch2/catch.hpp>

using lineward::Backoff;
using std::chrono::milliseconds;

namespace {

// As long as it may be, give or take a fifth.
bool about(milliseconds got, int64_t wanted) {
  return got.count() >= wanted * 8 / 10 && got.count() <= wanted * 12 / 10;
}

}  // namespace

TEST_CASE("pauses double up to the longest, which none exceeds") {
  Backoff backoff;
  const Backoff::Range range{milliseconds(1000), milliseconds(60000)};
  for (int64_t wanted : {1000, 2000, 4000, 8000, 16000, 32000})
    CHECK(about(backoff.pause(milliseconds(0), range), wanted));
  for (int i = 0; i < 100; ++i) {
    const milliseconds pause = backoff.pause(milliseconds(0), range);
    CHECK(about(pause, 60000));
    CHECK(pause <= Backoff::kLongest);
  }
  CHECK(backoff.tries() == 106);
}

TEST_CASE("they begin anew after an attempt that stood for ten seconds, or brought what it was made for") {
  Backoff backoff;
  const Backoff::Range range{milliseconds(100), milliseconds(60000)};
  const auto tries = [&](milliseconds now) {
    for (int i = 0; i < 5; ++i)
      backoff.pause(now, range);
  };
  tries(milliseconds(0));
  backoff.stood(milliseconds(1000));
  CHECK_FALSE(backoff.is_good(milliseconds(10999)));
  CHECK(about(backoff.pause(milliseconds(10999), range), 3200));

  backoff.stood(milliseconds(20000));
  CHECK(backoff.is_good(milliseconds(30000)));
  CHECK(about(backoff.pause(milliseconds(30000), range), 100));

  tries(milliseconds(30000));
  backoff.brought();  // while none stands: it means nothing
  CHECK(about(backoff.pause(milliseconds(30000), range), 6400));
  backoff.stood(milliseconds(40000));
  backoff.brought();
  CHECK(about(backoff.pause(milliseconds(40001), range), 100));
}

TEST_CASE("what fell does not become good by waiting") {
  Backoff backoff;
  const Backoff::Range range{milliseconds(100), milliseconds(60000)};
  backoff.pause(milliseconds(0), range);
  backoff.stood(milliseconds(0));
  backoff.fell(milliseconds(5000));
  CHECK_FALSE(backoff.is_good(milliseconds(50000)));
  CHECK(about(backoff.pause(milliseconds(50000), range), 200));
  backoff.stood(milliseconds(0));
  backoff.fell(milliseconds(10000));
  CHECK(about(backoff.pause(milliseconds(50000), range), 100));
}

TEST_CASE("a first pause that is longer than the longest is kept") {
  CHECK(Backoff::doubled({milliseconds(90000), milliseconds(60000)}, 3) <= milliseconds(90000));
  CHECK(Backoff::doubled({milliseconds(90000), milliseconds(60000)}, 3) >= milliseconds(72000));
}

TEST_CASE("without jitter each pause is exact, by its number or by the one before") {
  constexpr Backoff::Range range{milliseconds(100), milliseconds(1000)};
  milliseconds last{0};
  uint32_t times = 0;
  for (int64_t wanted : {100, 200, 400, 800, 1000, 1000}) {
    last = Backoff::after(last, range);
    CHECK(last == milliseconds(wanted));
    CHECK(Backoff::exact(range, times++) == milliseconds(wanted));
  }
  CHECK(Backoff::exact(range, UINT32_MAX) == range.longest);
  CHECK(about(Backoff::jittered(milliseconds(1000)), 1000));
}
