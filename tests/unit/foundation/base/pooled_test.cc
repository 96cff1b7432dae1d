#include "foundation/base/pooled.h"

#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

namespace {

// However this is built: some are kept.
struct Thing : lineward::Pooled<Thing, 2> {
  virtual ~Thing() = default;
  int number = 0;
};
struct Bigger final : Thing {
  char more[100] = {};
};

}  // namespace

TEST_CASE("what one gives back the next one takes, up to a bound") {
  std::vector<std::unique_ptr<Thing>> all;
  std::vector<void*> where;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::make_unique<Thing>());
    where.push_back(all.back().get());
  }
  for (auto& one : all)
    one.reset();  // two are kept, the third goes back to the C library
  CHECK(std::make_unique<Thing>().get() == where[1]);
  auto first = std::make_unique<Thing>();
  auto second = std::make_unique<Thing>();
  CHECK(first.get() == where[1]);
  CHECK(second.get() == where[0]);
}

TEST_CASE("an object of another size is none of them") {
  void* where = nullptr;
  {
    auto thing = std::make_unique<Thing>();
    where = thing.get();
  }
  std::unique_ptr<Thing> bigger = std::make_unique<Bigger>();
  CHECK(bigger.get() != where);
  bigger.reset();
  CHECK(std::make_unique<Thing>().get() == where);
}

TEST_CASE("a thread leaves none behind") {
  std::thread other([] { auto thing = std::make_unique<Thing>(); });
  other.join();  // the leak check sees what it kept
  auto here = std::make_unique<Thing>();
  std::thread away([&] { here.reset(); });
  away.join();
}
