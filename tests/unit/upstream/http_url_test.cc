#include "upstream/http_url.h"

#include <catch2/catch.hpp>

using lineward::upstream::parse_http_url;

TEST_CASE("URLs of servers") {
  struct {
    const char* text;
    bool tls;
    const char* host;
    int port;
    const char* target;
    const char* header;
  } cases[] = {
      {"http://127.0.0.1:8000/mcp", false, "127.0.0.1", 8000, "/mcp", "127.0.0.1:8000"},
      {"HTTP://example.com", false, "example.com", 80, "/", "example.com"},
      {"https://example.com/a/b?c=d", true, "example.com", 443, "/a/b?c=d", "example.com"},
      {"https://example.com:443?x", true, "example.com", 443, "/?x", "example.com"},
      {"http://[::1]:9/mcp", false, "::1", 9, "/mcp", "[::1]:9"},
      {"http://[::1]/mcp", false, "::1", 80, "/mcp", "[::1]"},
  };
  for (const auto& one : cases) {
    INFO(one.text);
    auto url = parse_http_url(one.text);
    REQUIRE(url);
    CHECK(url->tls == one.tls);
    CHECK(url->host == one.host);
    CHECK(url->port == one.port);
    CHECK(url->target == one.target);
    CHECK(url->host_header == one.header);
    CHECK(url->unix_path.empty());
  }
}

TEST_CASE("Unix sockets") {
  auto url = parse_http_url("unix:/run/server.sock");
  REQUIRE(url);
  CHECK(url->unix_path == "/run/server.sock");
  CHECK(url->target == "/mcp");
  CHECK(url->host_header == "localhost");
  url = parse_http_url("unix:/run/server.sock:/other?x=1");
  REQUIRE(url);
  CHECK(url->unix_path == "/run/server.sock");
  CHECK(url->target == "/other?x=1");
}

TEST_CASE("what is no URL of a server") {
  for (const char* text : {"",
                           "example.com",
                           "ftp://h/",
                           "http:/h",
                           "http://",
                           "http:///x",
                           "http://h:0/",
                           "http://h:65536/",
                           "http://h:x/",
                           "http://h:/",
                           "http://me:secret@h/",
                           "http://h/a b",
                           "http://h/#x",
                           "http://h/\r\nX: y",
                           "http://[::1/",
                           "http://[::1]x/",
                           "http://[zz]/",
                           "http://a,b/",
                           "unix:",
                           "unix:relative",
                           "unix:/a:/b c"}) {
    INFO(text);
    CHECK_FALSE(parse_http_url(text));
  }
}
