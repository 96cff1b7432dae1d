#include "protocol/http/header_list.h"

#include <catch2/catch.hpp>
#include <string_view>
#include <utility>

using namespace lineward::http;

TEST_CASE("names compare without case, and only ASCII letters have one") {
  CHECK(equals_ignoring_case("Content-LENGTH", "content-length"));
  CHECK(equals_ignoring_case("", ""));
  using Pair = std::pair<std::string_view, std::string_view>;
  for (const auto& [one, other] : {Pair{"a", "ab"}, {"[", "{"}, {"@", "`"}, {"\xc4", "\xe4"}}) {
    INFO(one << " and " << other);
    CHECK_FALSE(equals_ignoring_case(one, other));
  }
}

TEST_CASE("a header list finds the first field and counts all") {
  HeaderList list;
  list.add("Accept", "a");
  list.add("X", "1");
  list.add("accept", "b");
  REQUIRE(list.find("ACCEPT"));
  CHECK(list.find("ACCEPT")->value == "a");
  CHECK(list.get("x") == "1");
  CHECK(list.get("y").empty());
  CHECK(list.find("y") == nullptr);
  CHECK(list.count("accept") == 2);
  CHECK(list.count("y") == 0);
  CHECK(list.all().size() == 3);
  list.clear();
  CHECK(list.all().empty());
}

TEST_CASE("tokens of a comma-separated list") {
  CHECK(list_has_token("application/json, text/event-stream", "text/event-stream"));
  CHECK(list_has_token("application/json;q=0.5 , x", "Application/JSON"));
  CHECK(list_has_token(" \tclose\t ", "close"));
  CHECK(list_has_token("a,,b,", "b"));
  for (const char* list : {"closed, not-close", "", ",", "a;close"}) {
    INFO(list);
    CHECK_FALSE(list_has_token(list, "close"));
  }
}

TEST_CASE("white space is trimmed at both ends only") {
  CHECK(trim_white_space(" \ta b\t ") == "a b");
  CHECK(trim_white_space(" \t ").empty());
  CHECK(trim_white_space("").empty());
}
