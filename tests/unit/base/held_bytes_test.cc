#include "base/held_bytes.h"

#include <catch2/catch.hpp>
#include <memory>
#include <thread>

using lineward::HeldBytes;
using lineward::HeldCount;

TEST_CASE("the sum follows every holder, also those that go") {
  const uint64_t before = HeldBytes::total();
  HeldBytes a;
  a.set(100);
  {
    HeldCount b;
    b += 50;
    b -= 20;
    CHECK(b == 30u);
    CHECK(HeldBytes::total() == before + 130);
  }
  CHECK(HeldBytes::total() == before + 100);
  a.add(1);
  CHECK(HeldBytes::total() == before + 101);
  a.set(0);
  CHECK(HeldBytes::total() == before);
}

TEST_CASE("the maximum since the last reading is not forgotten in between") {
  HeldBytes::take_most();
  const uint64_t before = HeldBytes::total();
  {
    HeldBytes a;
    a.set(1000);
  }
  CHECK(HeldBytes::total() == before);
  CHECK(HeldBytes::take_most() == before + 1000);
  CHECK(HeldBytes::take_most() == before);
}

TEST_CASE("what is held as what adds up to the sum, over threads too") {
  using lineward::Held;
  auto parts = [] {
    uint64_t sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(Held::count_); ++i)
      sum += HeldBytes::total(static_cast<Held>(i));
    return sum;
  };
  CHECK(parts() == HeldBytes::total());
  const uint64_t cache = HeldBytes::total(Held::cache), parked = HeldBytes::total(Held::parked);
  HeldBytes one(Held::cache);
  HeldCount two(Held::parked);
  one.set(100);
  two += 30;
  CHECK(HeldBytes::total(Held::cache) == cache + 100);
  CHECK(HeldBytes::total(Held::parked) == parked + 30);
  CHECK(parts() == HeldBytes::total());
  std::thread([&] {
    HeldBytes far(Held::cache);
    far.set(1000000);
    one.set(0);  // what the other thread has not told is not seen here: the sum and the kinds lack the same
    CHECK(HeldBytes::total(Held::cache) > cache + 900000);
    CHECK(parts() == HeldBytes::total());
  }).join();
  HeldBytes(Held::queues).set(100000);  // tells what this thread has counted
  two -= 30;
  CHECK(parts() == HeldBytes::total());
}
