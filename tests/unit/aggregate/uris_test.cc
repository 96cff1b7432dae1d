// URIs of many servers (aggregate/uris.h): the origin they carry, and the schemes that stay.
#include "aggregate/uris.h"

#include <catch2/catch.hpp>

using namespace lineward::aggregate;

TEST_CASE("a URI carries its origin, and the way back needs no table") {
  Uris uris(100, 100), fresh(100, 100);
  for (Uris* one : {&uris, &fresh})
    for (const char* server : {"fs", "My_Server", "9lives"})
      one->add_server(server);
  for (const char* server : {"fs", "My_Server", "9lives"}) {
    for (const char* uri :
         {"file:///etc/hosts", "memo://x", "git+ssh://host/a", "no scheme", "file:///{path}", ""}) {
      std::string shown = uris.listed(server, uri);
      CHECK(shown == uris.to_client(server, uri));
      auto back = fresh.to_server(shown);
      REQUIRE(back);
      CHECK(back->server == server);
      CHECK(back->uri == uri);
    }
  }
  CHECK(uris.listed("fs", "file:///etc/hosts") == "fs+file:///etc/hosts");
  CHECK(fresh.to_server("FS+file:///x")->uri == "file:///x");
  CHECK_FALSE(fresh.to_server("file:///etc/hosts"));
  CHECK_FALSE(fresh.to_server("other+file:///etc/hosts"));
}

TEST_CASE("tokens are schemes, and no two servers have the same") {
  CHECK(origin_token("fs") == "fs");
  CHECK(origin_token("my_server") != origin_token("my-server"));
  CHECK(origin_token("Fs") != origin_token("fs"));
  for (const char* server : {"9lives", "-x", "_", "A_b"}) {
    std::string token = origin_token(server);
    CHECK(token.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
    CHECK((token[0] >= 'a' && token[0] <= 'z'));
  }
}

TEST_CASE("schemes that clients rely on stay, until two servers have the same URI") {
  Uris uris(100, 100);
  uris.add_server("a");
  uris.add_server("b");
  CHECK(uris.listed("a", "ui://chart/view.html") == "ui://chart/view.html");
  CHECK(uris.listed("b", "ui://other") == "ui://other");
  CHECK(uris.listed("b", "ui://chart/view.html") == "ui://b+chart/view.html");
  CHECK(uris.listed("a", "https://example.com/x") == "https://example.com/x");
  CHECK(uris.listed("b", "https://example.com/x") == "b+https://example.com/x");
  CHECK(uris.to_server("ui://chart/view.html")->server == "a");
  CHECK(uris.to_server("ui://b+chart/view.html")->server == "b");
  CHECK(uris.to_server("ui://b+chart/view.html")->uri == "ui://chart/view.html");
  CHECK(uris.to_server("b+https://example.com/x")->uri == "https://example.com/x");
  CHECK_FALSE(uris.to_server("https://example.com/y"));
}

TEST_CASE("a URI that came in a result is remembered, the last ones of them") {
  Uris uris(100, 2);
  uris.add_server("a");
  uris.add_server("b");
  CHECK(uris.to_client("a", "https://x/1") == "https://x/1");
  CHECK(uris.to_server("https://x/1")->server == "a");
  CHECK(uris.to_client("b", "https://x/1") == "b+https://x/1");
  CHECK(uris.to_client("b", "https://x/2") == "https://x/2");
  CHECK(uris.to_client("b", "https://x/3") == "https://x/3");
  CHECK_FALSE(uris.to_server("https://x/1"));
  CHECK(uris.to_server("https://x/3")->server == "b");
}

TEST_CASE("the longest beginning of a template tells whose an unknown URI is") {
  Uris uris(100, 100);
  uris.add_server("a");
  uris.add_server("b");
  uris.listed_template("a", "https://example.com/{id}");
  uris.listed_template("b", "https://example.com/users/{id}");
  uris.listed_template("b", "https://{host}/");
  CHECK(uris.to_server("https://example.com/7")->server == "a");
  CHECK(uris.to_server("https://example.com/users/7")->server == "b");
  CHECK_FALSE(uris.to_server("https://elsewhere/7"));
}
