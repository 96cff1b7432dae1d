#include "proxy/exchange/session_calls.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

using lineward::core::ExchangeId;
using lineward::exchange::SessionCalls;

namespace {

struct Calls {
  SessionCalls calls;
  std::map<uint32_t, std::string> names;
  size_t asked = 0;

  void add(uint32_t number, std::string name) {
    names[number] = std::move(name);
    calls.add(number, ExchangeId{number, 1});
  }
  uint32_t newest(std::string_view name) {
    return calls
        .newest(name,
                [this](ExchangeId id) {
                  ++asked;
                  return names.at(id.index);
                })
        .index;
  }
};

}  // namespace

TEST_CASE("a cancel means the newest call under its id, and nothing that has ended") {
  Calls all;
  all.add(1, "a");
  all.add(2, "b");
  CHECK(all.newest("a") == 1);
  CHECK(all.newest("c") == 0);
  all.add(3, "a");
  CHECK(all.newest("a") == 3);
  all.calls.remove(3);
  CHECK(all.newest("a") == 1);
  all.calls.remove(1);
  CHECK(all.newest("a") == 0);
  all.add(4, "a");
  all.calls.remove(4);  // before its name was asked for
  CHECK(all.newest("a") == 0);
  all.calls.remove(2);
  CHECK(all.calls.empty());
  all.add(5, "b");
  CHECK(all.newest("b") == 5);
}

TEST_CASE("the name of a call is made once, and only where there are cancels") {
  Calls all;
  for (uint32_t i = 1; i <= 100; ++i)
    all.add(i, "n" + std::to_string(i));
  CHECK(all.asked == 0);
  for (uint32_t i = 1; i <= 50; ++i)
    CHECK(all.newest("n" + std::to_string(i)) == i);
  CHECK(all.newest("other") == 0);
  CHECK(all.asked == 100);
}

TEST_CASE("calls of a session are in the order of their arrival") {
  Calls all;
  for (uint32_t i = 1; i <= 4; ++i)
    all.add(i, "same");
  all.calls.remove(2);
  std::vector<uint32_t> seen;
  all.calls.for_each([&](ExchangeId id) { seen.push_back(id.index); });
  CHECK(seen == std::vector<uint32_t>{1, 3, 4});
  seen.clear();
  all.calls.from_newest([&](ExchangeId id) {
    seen.push_back(id.index);
    return seen.size() == 2;
  });
  CHECK(seen == std::vector<uint32_t>{4, 3});
}
