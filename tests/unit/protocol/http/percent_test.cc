#include "protocol/http/percent.h"

#include <catch2/catch.hpp>

using lineward::http::form_value;
using lineward::http::percent_decoded;

TEST_CASE("a text with codes is decoded, and one with a code that is none is refused") {
  CHECK(percent_decoded("") == "");
  CHECK(percent_decoded("a%2Fb%20c%c3%A9") == "a/b c\xc3\xa9");
  CHECK(percent_decoded("a+b") == "a+b");
  CHECK(percent_decoded("%25") == "%");
  CHECK(percent_decoded("%2541") == "%41");
  CHECK(percent_decoded("a%00b") == std::string("a\0b", 3));
  CHECK_FALSE(percent_decoded("%"));
  CHECK_FALSE(percent_decoded("a%4"));
  CHECK_FALSE(percent_decoded("%zz"));
  CHECK_FALSE(percent_decoded("%4g"));
}

TEST_CASE("a field of a query or a form is decoded, and only whole names count") {
  CHECK(form_value("a=1&b=2", "b") == "2");
  CHECK(form_value("a=1+2%2B3%26b", "a") == "1 2+3&b");
  CHECK(form_value("method=tools%2Fcall", "method") == "tools/call");
  CHECK(form_value("%61=x", "a") == "x");
  CHECK(form_value("aa=1&a=2&a=3", "a") == "2");
  CHECK(form_value("a", "a") == "");
  CHECK(form_value("a=", "a") == "");
  CHECK_FALSE(form_value("", "a"));
  CHECK_FALSE(form_value("b=1", "a"));
  CHECK(form_value("&&=&a=x", "a") == "x");
  CHECK(form_value("a=x=y", "a") == "x=y");
  CHECK(form_value("a=%4", "a") == "%4");
  CHECK(form_value("a=%zz%", "a") == "%zz%");
  CHECK(form_value("a=%00b", "a") == std::string("\0b", 2));
}
