#include "plugins/tools/uri_rule.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "plugins/tools/uri_forms.h"

namespace lineward::plugins {

TEST_CASE("a denied file is denied in every spelling") {
  const UriRule rule({}, {"file:///secret/*"});
  for (const char* uri :
       {"file:///secret/key", "FILE:///secret/key", "File:///secret/key", "file://localhost/secret/key",
        "file://LOCALHOST/secret/key", "file:/secret/key", "file:secret/key", "file:///%73ecret/key",
        "file:///%73%65cret/key", "file:///secret%2Fkey", "file:///secret%2fkey", "file:////secret/key",
        "file:///secret//key", "file:///secret/key#part", "file:///secret/key?x=1",
        "file://localhost:/secret/key", "file://%6cocalhost/secret/key", "file:///secret/%6Bey",
        "file://127.0.0.1/secret/key"}) {
    INFO(uri);
    CHECK_FALSE(rule.judge(uri).allowed);
    CHECK(rule.judge(uri).fault.empty());
  }
  CHECK(rule.judge("file:///public/key").allowed);
  CHECK(rule.judge("file:///secrets").allowed);
}

TEST_CASE("what has no one meaning is refused where a rule stands") {
  const UriRule rule({}, {"file:///secret/*"});
  for (const char* uri : {"",
                          " file:///x",
                          "file:///x ",
                          "file:///a\tb",
                          "file:///a\nb",
                          "file:///public/../secret/key",
                          "file:///public/./key",
                          "file:///public/%2e%2e/secret/key",
                          "file:///public/.%2E/secret/key",
                          "file:///public/..%2fsecret/key",
                          "file:///public\\..\\secret",
                          "file:\\\\\\secret\\key",
                          "file:///public%5c..",
                          "file:///a%00b",
                          "file:///a%0ab",
                          "file:///..",
                          "http://h\\x/",
                          "http:/:/example.com:80/a",
                          "http://",
                          "http://u@/x",
                          "db://../x",
                          "%66ile:///secret/key",
                          "1x:a",
                          ":a",
                          "http://a%2fb/x",
                          "http://a%40b/x",
                          "http://a%3a80/x",
                          "http://a b/x",
                          "http://[::1/x",
                          "http://[no]/x",
                          "http://h:a/x",
                          "http://h:999999/x",
                          "file://u@h/x",
                          "file://h:80/x",
                          "http://\xef\xbd\x85xample/",
                          "memo:a/../b",
                          "file:///public/a#/../../secret/key",
                          "file:///public/a?/../../secret/key",
                          "file:///public/a?x#%2f..%2f..%2fsecret",
                          "memo:a?/../b",
                          "memo:a#b/../c",
                          "file:///\xff",
                          "file:///%c0%ae%c0%ae/x",
                          "file:///a\x7f"}) {
    INFO(uri);
    CHECK_FALSE(rule.judge(uri).allowed);
    CHECK_FALSE(rule.judge(uri).fault.empty());
  }
  // A query of http is no path.
  CHECK(rule.judge("http://example.com/x?back=/a/../b").allowed);
  CHECK(rule.judge("file:///public/a?..#v1..v2").allowed);
  // Without a rule every URI is allowed.
  CHECK(UriRule().judge("file:///public/../x").allowed);
}

TEST_CASE("hosts in every spelling") {
  const UriRule rule({}, {"http://127.0.0.1/*", "https://Intern.Example/*"});
  for (const char* uri :
       {"http://127.0.0.1/x", "http://127.0.0.1../x", "http://0x7f.1/x", "http://2130706433/x",
        "http://017700000001/x", "http://127.1/x", "http:127.0.0.1/x", "http:/127.0.0.1/x",
        "http:///127.0.0.1/x", "http://127.0.0.1:80/x", "http://127.0.0.1:0080/x", "HTTP://127.0.0.1/x",
        "http://127.0.0.1./x", "https://intern.example/", "https://INTERN.example:443/a",
        "https://intern%2eexample/a", "https://intern.example"}) {
    INFO(uri);
    CHECK_FALSE(rule.judge(uri).allowed);
  }
  CHECK(rule.judge("http://127.0.0.1:8080/x").allowed);
  CHECK(rule.judge("http://127.0.0.2/x").allowed);
  CHECK(rule.judge("https://extern.example/").allowed);
}

TEST_CASE("an IPv6 address and a drive in every spelling") {
  const UriRule rule({}, {"http://[::1]/*", "file:///C:/secret/*"});
  for (const char* uri :
       {"http://[::1]/x", "http://[0:0:0:0:0:0:0:1]/x", "http://[::0:1]:80/x", "http://[::0.0.0.1]/x",
        "file:///C:/secret/x", "file:///C|/secret/x", "file:C|/secret/x"}) {
    INFO(uri);
    CHECK_FALSE(rule.judge(uri).allowed);
    CHECK(rule.judge(uri).fault.empty());
  }
  CHECK(rule.judge("http://[::2]/x").allowed);
}

// Each is what a parser of the URL standard makes a denied one of: new URL(uri).href begins as a rule does.
TEST_CASE("users and the spelling of a port make no other resource") {
  const UriRule rule({}, {"https://internal.example/*", "note://x/*", "note://x:80/*", "http://127.0.0.1/*",
                          "http://h:8080/*", "ftp://f/*", "http://[::1]/*", "note://[::2]/*"});
  struct WrittenAs {
    std::string scheme, host;
    std::vector<std::string> ports;
  };
  const std::vector<WrittenAs> places{{"https", "internal.example", {"", ":", ":443", ":0443", ":00443"}},
                                      {"note", "x", {"", ":", ":80", ":080", ":0080", ":%380"}},
                                      {"http", "127.0.0.1", {"", ":80"}},
                                      {"http", "h", {":8080", ":08080"}},
                                      {"ftp", "f", {"", ":21"}},
                                      {"http", "[::1]", {"", ":080"}},
                                      {"note", "[0:0:0:0:0:0:0:2]", {"", ":"}}};
  for (const char* user : {"", "@", ":@", "u@", "u:@", "u:p@", "u:p:q@", "@@", "%40@", "u%2Fv@"}) {
    for (const WrittenAs& place : places) {
      for (const std::string& port : place.ports) {
        for (const char* rest : {"/z", "/z#a", "/%7a"}) {
          const std::string uri = place.scheme + "://" + user + place.host + port + rest;
          INFO(uri);
          CHECK_FALSE(rule.judge(uri).allowed);
          CHECK(rule.judge(uri).fault.empty());
        }
      }
    }
  }
  for (const char* uri : {"https://internal.example@h/z", "note://x:81/z", "note://x:800/z",
                          "note://x:8080/z", "note://y@z/z", "http://h/z", "ftp://f:2121/z"}) {
    INFO(uri);
    CHECK(rule.judge(uri).allowed);
  }
}

TEST_CASE("a rule about a user is about that user, in every spelling") {
  const UriRule rule({}, {"ftp://u:@f/*", "db://@d/*", "db://a:b:c@e/*"});
  for (const char* uri : {"ftp://u@f/z", "ftp://u:@f/z", "ftp://%75@f:21/z", "db://d/z", "db://:@d:/z",
                          "db://u@d/z", "db://a:b%3Ac@e/z"}) {
    INFO(uri);
    CHECK_FALSE(rule.judge(uri).allowed);
  }
  CHECK(rule.judge("ftp://f/z").allowed);
  CHECK(rule.judge("ftp://v@f/z").allowed);
  CHECK(rule.judge("db://a:b@e/z").allowed);
  const UriRule only({"https://h/*"}, {});
  CHECK(only.judge("https://h/z").allowed);
  CHECK_FALSE(only.judge("https://@h/z").allowed);
  CHECK_FALSE(only.judge("https://h@other/z").allowed);
}

TEST_CASE("an IPv4 address that IPv6 maps is that address") {
  const UriRule rule({}, {"http://127.0.0.1/*", "http://[::ffff:10.0.0.1]/*"});
  for (const char* uri :
       {"http://[::ffff:127.0.0.1]/z", "http://[::ffff:7f00:1]/z", "http://[0:0:0:0:0:FFFF:7f00:1]:80/z",
        "http://[::ffff:10.0.0.1]/z", "http://[::ffff:a00:1]/z", "http://10.0.0.1/z", "http://10.1/z"}) {
    INFO(uri);
    CHECK_FALSE(rule.judge(uri).allowed);
  }
  CHECK(rule.judge("http://[::fffe:127.0.0.1]/z").allowed);
  CHECK(rule.judge("http://[::ffff:127.0.0.2]/z").allowed);
}

TEST_CASE("what no URI holds is the same encoded") {
  const UriRule rule({}, {"https://h/a%7Bz", "https://h/a%22z", "note://x/%5Ez|*"});
  for (const char* uri :
       {"https://h/a{z", "https://h/a%7bz", "https://h/a\"z", "note://x/^z|a", "note://x/%5Ez%7Ca"}) {
    INFO(uri);
    CHECK_FALSE(rule.judge(uri).allowed);
  }
  CHECK(rule.judge("https://h/a}z").allowed);
  // A template is judged by its text.
  CHECK(UriRule({"note://n/{id}"}, {}).judge("note://n/{id}").allowed);
}

TEST_CASE("what is allowed must be so as written and in its normal form") {
  const UriRule rule({"file:///public/*", "db://tables/*"}, {});
  CHECK(rule.judge("file:///public/a%20b").allowed);
  CHECK(rule.judge("file:///public/%C3%A9").allowed);
  CHECK(rule.judge("file:///public/\xc3\xa9").allowed);
  CHECK(rule.judge("db://tables/a?x=1").allowed);
  CHECK_FALSE(rule.judge("file:///public").allowed);
  CHECK_FALSE(rule.judge("FILE:///public/x").allowed);
  CHECK_FALSE(rule.judge("file:///public%2Fx").allowed);
  CHECK_FALSE(rule.judge("other:x").allowed);
}

TEST_CASE("globs are normalised as URIs are") {
  const UriRule rule({}, {"FILE://localhost/Secret/*", "HTTP://Host:80/a?b=*"});
  CHECK_FALSE(rule.judge("file:///Secret/x").allowed);
  CHECK(rule.judge("file:///secret/x").allowed);
  CHECK_FALSE(rule.judge("http://host/a?b=1").allowed);
}

TEST_CASE("a normal form is its own normal form") {
  for (const char* uri :
       {"file:///a%2fb",     "HTTP://A:80",       "http:a/b?c#d", "x-y:%7e",
        "db://T/x%20y",      "noscheme/x",        "urn:a:b",      "http://user@HOST/%41",
        "file://host/share", "ws://h:081/",       "memo:100%",    "memo:%%341",
        "x://H%2f:a/",       "http://[0::1]:80/", "note://:@X:/", "note://@@x:080/",
        "x://a:b:c@h:00/",   "x://h:08:/",        "x://[0::1]:/", "http://[::ffff:1.2.3.4]/",
        "x://@:/",           "x:^{|}\"<>`"}) {
    INFO(uri);
    UriForms forms = uri_forms(uri);
    REQUIRE(forms.fault.empty());
    CHECK(uri_forms(forms.normal).normal == forms.normal);
  }
  CHECK(uri_forms("HTTP://A:80").normal == "http://a/");
  CHECK(uri_forms("file://host/share").normal == "file://host/share");
  CHECK(uri_forms("http://user@HOST/%41").normal == "http://user@host/A");
  CHECK(uri_forms("note://@x:080/z").normal == "note://x:80/z");
}

}  // namespace lineward::plugins
