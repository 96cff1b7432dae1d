#include "plugins/trace/trace_rounds.h"

#include <catch2/catch.hpp>

using namespace lineward::plugins;

TEST_CASE("a retry finds its call by its state, the oldest are forgotten") {
  TraceRounds rounds;
  CHECK_FALSE(rounds.find("a"));
  rounds.keep("", {});
  CHECK_FALSE(rounds.find(""));
  rounds.keep("a", {{"t", "s", true}, "k=v"});
  REQUIRE(rounds.find("a"));
  CHECK(rounds.find("a")->context.trace_id == "t");
  CHECK(rounds.find("a")->state == "k=v");
  CHECK_FALSE(rounds.find("b"));
  for (size_t i = 0; i < TraceRounds::kMost; ++i)
    rounds.keep("n" + std::to_string(i), {});
  CHECK(rounds.size() == TraceRounds::kMost);
  CHECK_FALSE(rounds.find("a"));
  rounds.keep("n5", {{"again", "s", true}, ""});
  CHECK(rounds.size() == TraceRounds::kMost);
  CHECK(rounds.find("n5")->context.trace_id == "again");
}
