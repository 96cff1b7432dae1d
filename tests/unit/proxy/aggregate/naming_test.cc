// Names of many servers (proxy/aggregate/naming.h): the prefix rule, the bound, clashes, and that a name
// keeps its owner.
#include "proxy/aggregate/naming.h"

#include <catch2/catch.hpp>

using lineward::config::Aggregate;
using lineward::config::PrefixMode;
using namespace lineward::aggregate;

namespace {

const std::vector<std::string> kTheirNames{"fs", "weather"};

Aggregate rules(PrefixMode mode) {
  Aggregate out;
  out.prefix_mode = mode;
  return out;
}

bool fits(const std::string& name) {
  if (name.empty() || name.size() > 64) return false;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a name gets the server's prefix, and the way back needs no table") {
  Aggregate always = rules(PrefixMode::always);
  Names names(always, 100);
  CHECK(names.to_client("fs", "read") == "fs__read");
  auto back = Names(always, 100).to_server("fs__read", kTheirNames);
  REQUIRE(back);
  CHECK(back->server == "fs");
  CHECK(back->name == "read");
  CHECK_FALSE(names.needs_lists("fs__read"));
  CHECK_FALSE(names.to_server("read", kTheirNames));
  CHECK_FALSE(names.to_server("fs__", kTheirNames));
  CHECK_FALSE(names.to_server("other__read", kTheirNames));
}

TEST_CASE("a name that does not fit is cut and ends with a hash of the whole") {
  std::string longest(64 - 4, 'a');
  CHECK(prefixed_name("fs__", longest) == "fs__" + longest);
  std::string one = prefixed_name("fs__", longest + "b"), two = prefixed_name("fs__", longest + "c");
  CHECK(fits(one));
  CHECK(one.size() == 64);
  CHECK(one != two);
  CHECK(one == prefixed_name("fs__", longest + "b"));
  CHECK(one.substr(0, 20) == ("fs__" + longest).substr(0, 20));
  CHECK(fits(prefixed_name("fs__", "caf\xc3\xa9/x y")));
  CHECK(prefixed_name("fs__", "a b") != prefixed_name("fs__", "a/b"));
  CHECK(fits(prefixed_name("fs__", "")));

  Aggregate always = rules(PrefixMode::always);
  Names names(always, 100);
  std::string shown = names.to_client("fs", longest + "b");
  CHECK(shown == one);
  CHECK(Names(always, 100).needs_lists(shown));
  CHECK_FALSE(names.needs_lists(shown));
  CHECK(names.to_server(shown, kTheirNames)->name == longest + "b");
}

TEST_CASE("onConflict: only the later server's name is prefixed, and the first keeps its own") {
  Aggregate mode = rules(PrefixMode::on_conflict);
  Names names(mode, 100);
  CHECK(names.to_client("fs", "search") == "search");
  CHECK(names.to_client("weather", "search") == "weather__search");
  CHECK(names.to_client("weather", "forecast") == "forecast");
  CHECK(names.to_client("fs", "search") == "search");
  CHECK(names.to_client("weather", "search") == "weather__search");
  CHECK(names.to_server("search", kTheirNames)->server == "fs");
  CHECK(names.to_server("weather__search", kTheirNames)->name == "search");
  CHECK(names.needs_lists("unheard"));
  // A server that has the other's prefixed name for one of its own.
  CHECK(names.to_client("fs", "weather__search") == "fs__weather__search");
}

TEST_CASE("never: the later server's name is left out") {
  Aggregate mode = rules(PrefixMode::never);
  Names names(mode, 100);
  CHECK(names.to_client("fs", "search") == "search");
  CHECK(names.to_client("weather", "search").empty());
  CHECK(names.to_server("search", kTheirNames)->server == "fs");
}

TEST_CASE("there are only so many names") {
  Owners owners(2);
  CHECK(owners.claim("a", "x", {"x"}) == "x");
  CHECK(owners.claim("a", "y", {"y"}) == "y");
  CHECK(owners.claim("a", "z", {"z"}).empty());
  CHECK(owners.full());
  CHECK(owners.claim("a", "x", {"x"}) == "x");
  CHECK(owners.find("z") == nullptr);
}
