#include "proxy/upstream/http_client/http_url.h"

#include <catch2/catch.hpp>

using lineward::upstream::parse_http_url;
using lineward::upstream::resolve_target;

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

TEST_CASE("where an endpoint event points to") {
  auto base = parse_http_url("http://example.com:8000/mcp/sse?tenant=a");
  REQUIRE(base);
  struct {
    const char* reference;
    const char* target;  // null: refused
  } cases[] = {
      {"/messages?sessionId=1", "/messages?sessionId=1"},
      {"messages/?session_id=1", "/mcp/messages/?session_id=1"},
      {"?session=1", "/mcp/sse?session=1"},
      {"", "/mcp/sse?tenant=a"},
      {"  /a ", "/a"},
      {"/a#part", "/a"},
      {"../post", "/post"},
      {"../../../post/./x/..", "/post/"},
      {"/a//b", "/a//b"},
      {"/time?at=12:30", "/time?at=12:30"},
      {"http://example.com:8000/post?x", "/post?x"},
      {"HTTP://EXAMPLE.com:8000", "/"},
      {"//example.com:8000/post", "/post"},
      {"//elsewhere.com/post", nullptr},
      {"http://example.com/post", nullptr},
      {"https://example.com:8000/post", nullptr},
      {"http://example.com:8000@evil.com/post", nullptr},
      {"http://evil.com:8000/post", nullptr},
      {"unix:/run/other.sock", nullptr},
      {"javascript:alert(1)", nullptr},
      {"/a b", nullptr},
      {"/a\r\nHost: evil", nullptr},
  };
  for (const auto& one : cases) {
    INFO(one.reference);
    auto target = resolve_target(*base, one.reference);
    REQUIRE(target.has_value() == (one.target != nullptr));
    if (target) CHECK(*target == one.target);
  }
  CHECK_FALSE(resolve_target(*base, "/" + std::string(9000, 'a')));
}
