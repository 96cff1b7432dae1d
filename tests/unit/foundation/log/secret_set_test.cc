#include "foundation/log/secret_set.h"

#include <catch2/catch.hpp>

using lineward::redaction::SecretSet;

TEST_CASE("each value is hidden where it stands, and all of those that overlap") {
  const SecretSet set({"abcd", "abcdefgh", "xyz", "defg"}, 4);
  CHECK(set.hide("it is abcdefgh, not abcd", "***") == "it is ***, not ***");
  CHECK(set.hide("abcdefg xyz", "***") == "*** xyz");
  CHECK(set.hide("abcdabcd", "*") == "**");
  CHECK(set.stand_in("a defg"));
  CHECK_FALSE(set.stand_in("abc xyz def"));
  CHECK_FALSE(set.stand_in(""));
  CHECK(SecretSet({"abcabc"}, 4).hide("x abcabcabc y", "*") == "x * y");
  // A meaningless value stands before a secret, and overlaps it.
  CHECK(SecretSet({"/srv/app", "app-51ecre7key"}, 4).hide("at /srv/app-51ecre7key.", "*") == "at *.");
}

TEST_CASE("of a text that was cut within a value its end is hidden, and no whole value comes apart for it") {
  const SecretSet set({"abcdefgh", "efgh-ijkl", "hunter2-hunter2"}, 4);
  auto hidden = [&set](const char* text) { return set.hide_cut(text, "***", 4); };
  CHECK(hidden("it ends with abcdef") == "it ends with ***");
  CHECK(hidden("it ends with abcdefgh-") == "it ends with ***");
  CHECK(hidden("it ends with abc") == "it ends with abc");
  CHECK(hidden("abcd") == "***");
  CHECK(hidden("abcdefgh and efgh") == "*** and ***");
  CHECK(hidden("it is hunter2-hunter2") == "it is ***");
  CHECK(hidden("abcdefgh.") == "***.");
}

TEST_CASE("what is too short is no value, and a set of none hides nothing") {
  const SecretSet none({"", "a", "abc"}, 4);
  CHECK(none.empty());
  CHECK(none.hide("abc a", "*") == "abc a");
  CHECK(none.hide_cut("abc", "*", 1) == "abc");
}
