#include "foundation/net/piece_queue.h"

#include <catch2/catch.hpp>
#include <string>

#include "foundation/base/string_pool.h"

using lineward::net::PieceQueue;

TEST_CASE("pieces come out in the order they went in, however the two mix") {
  PieceQueue queue;
  int in = 0, out = 0;
  auto push = [&] { queue.push(std::to_string(in++)); };
  auto pop = [&] { return queue.pop() == std::to_string(out++); };
  CHECK(queue.empty());
  for (int round = 0; round < 500; ++round) {
    for (int i = 0; i < 3; ++i)
      push();
    CHECK(queue.front() == std::to_string(out));
    CHECK(pop());
  }
  int seen = out;
  for (auto& piece : queue)
    CHECK(piece == std::to_string(seen++));
  CHECK(seen == in);
  while (!queue.empty())
    CHECK(pop());
  CHECK(out == in);
  push();
  queue.clear();
  CHECK(queue.empty());
}

TEST_CASE("small pieces share the buffer of the one before them, and large ones do not") {
  PieceQueue queue;
  const auto pooled = [](size_t size, char letter) {
    std::string text = lineward::StringPool::take(size);
    text.assign(size, letter);
    return text;
  };
  queue.push(pooled(300, 'a'));
  queue.push(pooled(300, 'b'));
  queue.push(std::string(300, 'c'));
  queue.push(pooled(600, 'd'));
  CHECK(queue.pop() == std::string(300, 'a') + std::string(300, 'b') + std::string(300, 'c'));
  CHECK(queue.pop() == std::string(600, 'd'));
  CHECK(queue.empty());
}
