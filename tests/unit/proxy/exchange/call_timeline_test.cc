#include "proxy/exchange/call_log.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>

#include "proxy/exchange/end_counts.h"

using namespace lineward;
using namespace lineward::exchange;
using std::chrono::milliseconds;

TEST_CASE("what comes again and again is one mark with a count") {
  CallTimeline line;
  line.note(CallStep::arrived, milliseconds(0));
  for (int i = 1; i <= 100; ++i)
    line.note(CallStep::progress, milliseconds(i * 10));
  line.note(CallStep::ended, milliseconds(1200));
  REQUIRE(line.size() == 3);
  CHECK(line.left_out() == 0);
  CHECK(line[1].step == CallStep::progress);
  CHECK(line[1].at_ms == 10);
  CHECK(line[1].last_ms == 1000);
  CHECK(line[1].times == 100);
  CHECK(line[2].at_ms == 1200);
}

TEST_CASE("of too many marks the first and the last are kept, in order") {
  for (uint32_t count : {15u, 16u, 17u, 24u, 25u, 1000u}) {
    CallTimeline line;
    for (uint32_t i = 0; i < count; ++i)
      line.note(i % 2 == 0 ? CallStep::asked : CallStep::answered, milliseconds(i));
    INFO(count);
    CHECK(line.size() + line.left_out() == count);
    CHECK(line.size() == std::min<size_t>(count, 16));
    for (uint32_t i = 0; i < std::min(count, 8u); ++i)
      CHECK(line[i].at_ms == i);
    for (uint32_t i = 8; i < line.size(); ++i)
      CHECK(line[i].at_ms == (count <= 16 ? i : count - 16 + i));
  }
}

TEST_CASE("times that are out of range are cut") {
  CallTimeline line;
  line.note(CallStep::arrived, milliseconds(-5));
  line.note(CallStep::ended, milliseconds(int64_t{1} << 40));
  CHECK(line[0].at_ms == 0);
  CHECK(line[1].at_ms == UINT32_MAX);
}

TEST_CASE("every step has a name of its own") {
  std::set<std::string_view> names;
  for (size_t i = 0; i < static_cast<size_t>(CallStep::count_); ++i) {
    CHECK(!name(static_cast<CallStep>(i)).empty());
    CHECK(names.insert(name(static_cast<CallStep>(i))).second);
  }
}

TEST_CASE("ends are counted by minute and reason, for an hour") {
  auto counts = std::make_unique<EndCounts>();
  const auto reason = static_cast<size_t>(mcp::EndReason::ok);
  const milliseconds begin(1000);
  CHECK(counts->of(0, begin) == nullptr);
  counts->count(mcp::EndReason::ok, begin);
  counts->count(mcp::EndReason::ok, begin + milliseconds(58'999));
  counts->count(mcp::EndReason::timeout_request, begin + milliseconds(59'000));
  REQUIRE(counts->of(0, begin) != nullptr);
  CHECK((*counts->of(0, begin))[reason] == 2);
  CHECK((*counts->of(1, begin + milliseconds(60'000)))[reason] == 2);
  CHECK((*counts->of(0, begin + milliseconds(60'000)))[reason] == 0);
  CHECK(counts->of(2, begin + milliseconds(60'000)) == nullptr);
  CHECK(counts->of(59, begin + milliseconds(59 * 60'000)) != nullptr);
  // Its place is another minute's then.
  counts->count(mcp::EndReason::ok, begin + milliseconds(60 * 60'000));
  CHECK((*counts->of(0, begin + milliseconds(60 * 60'000)))[reason] == 1);
  CHECK(counts->of(60, begin + milliseconds(60 * 60'000)) == nullptr);
}
