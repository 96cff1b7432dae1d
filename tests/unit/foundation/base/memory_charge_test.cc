#include "foundation/base/memory_charge.h"

#include <catch2/catch.hpp>
#include <memory>
#include <thread>

using lineward::HeldCount;
using lineward::MemoryCharge;

TEST_CASE("the sum follows every holder, also those that go") {
  const uint64_t before = MemoryCharge::total();
  MemoryCharge a;
  a.set(100);
  {
    HeldCount b;
    b += 50;
    b -= 20;
    CHECK(b == 30u);
    CHECK(MemoryCharge::total() == before + 130);
  }
  CHECK(MemoryCharge::total() == before + 100);
  a.add(1);
  CHECK(MemoryCharge::total() == before + 101);
  a.set(0);
  CHECK(MemoryCharge::total() == before);
}

TEST_CASE("the maximum since the last reading is not forgotten in between") {
  MemoryCharge::take_most();
  const uint64_t before = MemoryCharge::total();
  {
    MemoryCharge a;
    a.set(1000);
  }
  CHECK(MemoryCharge::total() == before);
  CHECK(MemoryCharge::take_most() == before + 1000);
  CHECK(MemoryCharge::take_most() == before);
}

TEST_CASE("what is held as what adds up to the sum, over threads too") {
  using lineward::Held;
  auto parts = [] {
    uint64_t sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(Held::count_); ++i)
      sum += MemoryCharge::total(static_cast<Held>(i));
    return sum;
  };
  CHECK(parts() == MemoryCharge::total());
  const uint64_t cache = MemoryCharge::total(Held::cache), parked = MemoryCharge::total(Held::parked);
  MemoryCharge one(Held::cache);
  HeldCount two(Held::parked);
  one.set(100);
  two += 30;
  CHECK(MemoryCharge::total(Held::cache) == cache + 100);
  CHECK(MemoryCharge::total(Held::parked) == parked + 30);
  CHECK(parts() == MemoryCharge::total());
  std::thread([&] {
    MemoryCharge far(Held::cache);
    far.set(1000000);
    one.set(0);  // what the other thread has not told is not seen here: the sum and the kinds lack the same
    CHECK(MemoryCharge::total(Held::cache) > cache + 900000);
    CHECK(parts() == MemoryCharge::total());
  }).join();
  MemoryCharge(Held::queues).set(100000);  // tells what this thread has counted
  two -= 30;
  CHECK(parts() == MemoryCharge::total());
}
