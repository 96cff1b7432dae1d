#include "proxy/upstream/shared/shown_group.h"

#include <catch2/catch.hpp>
#include <string>

using lineward::upstream::shown_group;

TEST_CASE("a group's key is shown without the whole id of its session or state") {
  const std::string id = "0123456789abcdef0123456789abcdef";
  CHECK(shown_group("session:" + id) == "session:01234567");
  CHECK(shown_group("session:" + id + "#2") == "session:01234567#2");
  CHECK(shown_group("session:" + id + ":as:77aa") == "session:01234567:as:77aa");
  CHECK(shown_group("modern:anonymous/" + id) == "modern:anonymous/01234567");
  CHECK(shown_group("modern:https://idp.example/alice/" + id) == "modern:https://idp.example/alice/01234567");
}

TEST_CASE("other keys of groups are shown as they are, up to a limit") {
  for (const char* key : {"", "plain", "shared", "call:7", "modern", "modern:alice",
                          "modern:https://idp.example/alice.smith", "session:1", "session:"})
    CHECK(shown_group(key) == key);
  const std::string long_key = "translated:anonymous " + std::string(100, 'x');
  CHECK(shown_group(long_key) == long_key.substr(0, 64));
  CHECK(shown_group("legacy:" + std::string(32, 'a')) == "legacy:" + std::string(32, 'a'));
}
