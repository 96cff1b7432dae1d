#include "foundation/base/slab_allocator.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using lineward::SlabAllocator;
using lineward::Slabs;

TEST_CASE("nodes are given out once, side by side, and used again") {
  Slabs slabs;
  std::set<void*> taken;
  for (int i = 0; i < 16; ++i)
    CHECK(taken.insert(slabs.take(48)).second);
  CHECK(slabs.slabs() == 1);
  CHECK(static_cast<char*>(*taken.rbegin()) - static_cast<char*>(*taken.begin()) == 15 * 48);
  void* one = *taken.begin();
  slabs.give(one);
  CHECK(slabs.take(48) == one);
  for (void* node : taken)
    slabs.give(node);
  CHECK(slabs.slabs() == 1);  // few are kept for the next time
}

TEST_CASE("all goes back when nothing is left of many") {
  Slabs slabs;
  std::vector<void*> taken;
  for (int i = 0; i < 10000; ++i)
    taken.push_back(slabs.take(64));
  CHECK(slabs.slabs() > 8);
  CHECK(slabs.slabs() < 30);
  while (taken.size() > 1) {
    slabs.give(taken.back());
    taken.pop_back();
  }
  CHECK(slabs.slabs() > 8);
  slabs.give(taken.back());
  CHECK(slabs.slabs() == 0);
  slabs.give(slabs.take(64));  // and can be used again
}

TEST_CASE("a map lives in them, and swaps with one of the same slabs") {
  Slabs slabs;
  using Map = std::map<int, long, std::less<>, SlabAllocator<std::pair<const int, long>>>;
  Map map{Map::allocator_type(slabs)};
  for (int i = 0; i < 1000; ++i)
    map.emplace(i, i);
  for (int i = 0; i < 1000; i += 2)
    map.erase(i);
  Map other(map.get_allocator());
  other.swap(map);
  CHECK(map.empty());
  CHECK(other.size() == 500);
  CHECK(other.at(501) == 501);
}
