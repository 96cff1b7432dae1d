#include "foundation/process/start_line.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

using lineward::process::StartLine;

TEST_CASE("commands without a waiting call start sixteen at a time, the first ones before the last ones") {
  StartLine line;
  std::vector<std::unique_ptr<StartLine::Turn>> turns;
  std::vector<size_t> begun;
  auto comes = [&](StartLine::Order order) {
    const size_t number = turns.size();
    turns.push_back(std::make_unique<StartLine::Turn>());
    turns.back()->take(line, order, [&begun, number] { begun.push_back(number); });
  };
  for (int i = 0; i < 20; ++i)
    comes(StartLine::Order::last);
  comes(StartLine::Order::first);
  CHECK(begun.size() == 16);
  CHECK(line.waiting() == 5);
  CHECK(turns[16]->waits());
  turns[3]->leave();
  CHECK(begun.back() == 20);
  turns[16].reset();  // it leaves the line
  turns[20].reset();
  CHECK(begun.back() == 17);
  CHECK(turns[17]->is_held());
  CHECK(line.waiting() == 2);
  turns.clear();
  CHECK(line.waiting() == 0);
}

TEST_CASE("a turn may be over before its beginning has come back") {
  StartLine line;
  StartLine::Turn turn;
  int begun = 0;
  for (int i = 0; i < 40; ++i) {
    turn.take(line, StartLine::Order::last, [&] {
      ++begun;
      turn.leave();
    });
  }
  CHECK(begun == 40);
  CHECK_FALSE(turn.is_held());
}
