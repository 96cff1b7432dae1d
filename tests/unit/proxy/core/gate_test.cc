#include "proxy/core/gate.h"

#include <catch2/catch.hpp>

using lineward::core::is_anonymous;

TEST_CASE("an anonymous principal is told from a name, whatever that name is") {
  for (const char* one :
       {"anonymous", "off/anonymous", "listener:inside/anonymous", "listener:a-b_C9/anonymous"})
    CHECK(is_anonymous(one));
  for (const char* one : {"", "key:anonymous", "key:off/anonymous", "jwt:https://a.example/#x/anonymous",
                          "listener:inside/key:anonymous", "listener:inside/jwt:a#/anonymous",
                          "certificate:anonymous", "off/certificate:anonymous", "listener:inside/", "off/",
                          "anonymous/anonymous", "other/anonymous", "off/anonymous/anonymous"})
    CHECK_FALSE(is_anonymous(one));
}
