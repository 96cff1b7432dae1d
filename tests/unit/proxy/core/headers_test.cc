#include "proxy/core/headers.h"

#include <catch2/catch.hpp>

using namespace lineward::core;

TEST_CASE("shared header fields are the same fields for all their holders") {
  const SharedFields none, also_none = HeaderFields();
  CHECK(none.begin() == none.end());
  CHECK(also_none.begin() == also_none.end());
  const SharedFields one = {{"A", "1"}, {"B", "2"}};
  SharedFields other = one;
  CHECK(&*one.begin() == &*other.begin());
  HeaderFields mine = other;
  mine.emplace_back("C", "3");
  other = mine;
  CHECK(static_cast<const HeaderFields&>(one) == HeaderFields{{"A", "1"}, {"B", "2"}});
  CHECK(static_cast<const HeaderFields&>(other) == mine);
}
