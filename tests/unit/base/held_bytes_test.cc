#include "base/held_bytes.h"

#include <catch2/catch.hpp>
#include <memory>

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

TEST_CASE("the most since somebody asked last is not forgotten in between") {
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
