#include "protocol/http/stream_head.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <string>
#include <utility>

namespace lineward::http {
namespace {

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

StreamHead head_of(Fields fields, bool request = true) {
  StreamHead head;
  if (request) {
    for (const auto& [name, value] : Fields{{":method", "POST"}, {":scheme", "https"}, {":path", "/mcp?a=1"}})
      head.add(name, value, 32 * 1024);
  }
  for (const auto& [name, value] : fields)
    head.add(name, value, 32 * 1024);
  return head;
}

std::string text_of(Fields fields, bool has_body = false) {
  auto text = head_of(fields).text(has_body);
  return text ? *text : "fault: " + text.error().text;
}

TEST_CASE("stream head: becomes the head of HTTP/1.1 with the same meaning") {
  CHECK(text_of({{":authority", "a.test:8000"}, {"accept", "text/html"}}) ==
        "POST /mcp?a=1 HTTP/1.1\r\nHost: a.test:8000\r\naccept: text/html\r\n\r\n");
  CHECK(text_of({{"host", "b.test"}}) == "POST /mcp?a=1 HTTP/1.1\r\nHost: b.test\r\n\r\n");
  CHECK(text_of({{":authority", "a"}, {"host", "a"}}) == "POST /mcp?a=1 HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(text_of({{"cookie", "a=1"}, {"x", "y"}, {"cookie", "b=2"}}) ==
        "POST /mcp?a=1 HTTP/1.1\r\nx: y\r\ncookie: a=1; b=2\r\n\r\n");
  CHECK(text_of({{"te", "trailers"}}) == "POST /mcp?a=1 HTTP/1.1\r\n\r\n");
}

TEST_CASE("stream head: a body without a length comes in chunks") {
  CHECK(text_of({{"content-length", "3"}}, true) == "POST /mcp?a=1 HTTP/1.1\r\ncontent-length: 3\r\n\r\n");
  CHECK(text_of({}, true) == "POST /mcp?a=1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  StreamHead head = head_of({});
  CHECK(head.text(true));
  CHECK(head.is_chunked());
}

TEST_CASE("stream head: what would be another request in HTTP/1.1 is refused") {
  for (const Fields fields :
       {Fields{{"x", "a\r\nb: c"}}, Fields{{"x", std::string_view("a\0b", 3)}}, Fields{{"a b", "c"}},
        Fields{{"a:b", "c"}}, Fields{{"", "c"}}, Fields{{"transfer-encoding", "chunked"}},
        Fields{{"connection", "close"}}, Fields{{"upgrade", "h2c"}}, Fields{{"te", "gzip"}},
        Fields{{":authority", "a b"}}, Fields{{":authority", "a"}, {"host", "b"}},
        Fields{{":path", "/other"}}, Fields{{":method", "GET"}}, Fields{{":unknown", "x"}}})
    CHECK(text_of(fields).substr(0, 6) == "fault:");
  for (const std::string_view path : {"/a b", "/a\tb", ""}) {
    StreamHead head = head_of({{":method", "GET"}, {":scheme", "https"}, {":path", path}}, false);
    CHECK_FALSE(head.text(false));
  }
  StreamHead without_scheme = head_of({{":method", "GET"}, {":path", "/"}}, false);
  CHECK_FALSE(without_scheme.text(false));
}

TEST_CASE("stream head: a head that is cut is too large, whatever its fields") {
  constexpr size_t kMost = 4096;
  const std::string value(1000, 'v');
  for (const std::string_view name : {"name", "cookie"}) {
    StreamHead head = head_of({});
    for (int i = 0; i < 100; ++i)
      head.add(name, value, kMost);
    head.add("last", "1", kMost);
    CHECK(head.size() > 100 * 1000);
    auto text = head.text(false);
    REQUIRE(text);
    CHECK(text->size() > kMost);
    CHECK(text->size() < 2 * kMost);
    CHECK(text->find("last") == std::string::npos);
  }
  StreamHead whole = head_of({});
  for (int i = 0; i < 3; ++i)
    whole.add("cookie", value, kMost);
  whole.add("last", "1", kMost);
  CHECK(whole.text(false)->find("last: 1") != std::string::npos);
}

}  // namespace
}  // namespace lineward::http
