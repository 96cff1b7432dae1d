#include "log/secret_set.h"

#include <catch2/catch.hpp>

using lineward::redaction::SecretSet;

TEST_CASE("of values that begin alike the longest is hidden, and each where it stands") {
  const SecretSet set({"abcd", "abcdefgh", "xyz", "defg"}, 4);
  CHECK(set.hide("it is abcdefgh, not abcd", "***") == "it is ***, not ***");
  CHECK(set.hide("abcdefg xyz", "***") == "***efg xyz");
  CHECK(set.hide("abcdabcd", "*") == "**");
  CHECK(set.stand_in("a defg"));
  CHECK_FALSE(set.stand_in("abc xyz def"));
  CHECK_FALSE(set.stand_in(""));
}

TEST_CASE("a text that was cut within a value ends with its beginning") {
  const SecretSet set({"abcdefgh", "efgh-ijkl"}, 4);
  CHECK(set.begun_at_end("it ends with abcdef", 4) == 6);
  CHECK(set.begun_at_end("it ends with abcdefgh-", 4) == 5);
  CHECK(set.begun_at_end("it ends with abc", 4) == 0);
  CHECK(set.begun_at_end("abcd", 4) == 4);
  CHECK(set.begun_at_end("ab", 4) == 0);
}

TEST_CASE("what is too short is no value, and a set of none hides nothing") {
  const SecretSet none({"", "a", "abc"}, 4);
  CHECK(none.empty());
  CHECK(none.hide("abc a", "*") == "abc a");
  CHECK(none.begun_at_end("abc", 1) == 0);
}
