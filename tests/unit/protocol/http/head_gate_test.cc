#include "protocol/http/head_gate.h"

#include <catch2/catch.hpp>
#include <string>

#include "unit/protocol/http/feed.h"

using namespace lineward::http;

namespace {

// 0 when the head passes. The gate alone and the parser with all its steps must agree, but for what only the
// parser refuses: methods it does not know. It may see what is wrong with bytes earlier, hence with another
// text.
int gate(const std::string& head, const RequestLimits& limits = {}) {
  auto checked = check_request_head(head, limits);
  int status = checked ? 0 : checked.error().code;
  INFO(head);
  if (status != 0) {
    CHECK_FALSE(checked.error().text.empty());
    CHECK(verdict(head, limits) == status);
  }
  return status;
}

int line(const std::string& request_line) {
  return gate(request_line + "\r\nHost: a\r\n\r\n");
}
int field(const std::string& text) {
  return gate("POST / HTTP/1.1\r\nHost: a\r\n" + text + "\r\n\r\n");
}
int host(const std::string& value) {
  return gate("POST / HTTP/1.1\r\nHost: " + value + "\r\n\r\n");
}

}  // namespace

TEST_CASE("request lines") {
  CHECK(line("POST /mcp HTTP/1.1") == 0);
  CHECK(line("GET /mcp?a=b&c=%20|'\"\\ HTTP/1.0") == 0);
  CHECK(line("M-SEARCH / HTTP/1.1") == 0);

  SECTION("one space between the parts, no other white space") {
    CHECK(line("POST  / HTTP/1.1") == 400);
    CHECK(line("POST /  HTTP/1.1") == 400);
    CHECK(line(" POST / HTTP/1.1") == 400);
    CHECK(line("POST / HTTP/1.1 ") == 400);
    CHECK(line("POST\t/ HTTP/1.1") == 400);
    CHECK(line("POST /\tHTTP/1.1") == 400);
    CHECK(line("POST /\tx HTTP/1.1") == 400);
    CHECK(line("POST /a b HTTP/1.1") == 400);
    CHECK(line("POST /") == 400);
    CHECK(line("POST") == 400);
    CHECK(line("POST HTTP/1.1") == 400);
  }
  SECTION("methods are tokens of bounded length") {
    CHECK(line("PO(ST / HTTP/1.1") == 400);
    CHECK(line("P\xc3\x96ST / HTTP/1.1") == 400);
    CHECK(line(std::string(32, 'A') + " / HTTP/1.1") == 0);
    CHECK(line(std::string(33, 'A') + " / HTTP/1.1") == 501);
  }
  SECTION("versions") {
    CHECK(line("POST / HTTP/1.2") == 505);
    CHECK(line("POST / HTTP/0.9") == 505);
    CHECK(line("PRI * HTTP/2.0") == 505);
    CHECK(line("POST / HTTP/3.0") == 505);
    CHECK(line("POST / HTTP/1.10") == 400);
    CHECK(line("POST / HTTP/01.1") == 400);
    CHECK(line("POST / HTTP/2") == 400);
    CHECK(line("POST / http/1.1") == 400);
    CHECK(line("POST / HTTP/ 1.1") == 400);
    CHECK(line("POST / HTTP/1,1") == 400);
    CHECK(line("POST / RTSP/1.0") == 400);
    CHECK(line("POST / ICE/1.0") == 400);
    CHECK(line("POST / HTTP/1.1x") == 400);
  }
  SECTION("targets are paths, or http URLs with one; visible ASCII, without fragment") {
    CHECK(line("POST http://a/ HTTP/1.1") == 0);
    CHECK(line("POST ftp://a/ HTTP/1.1") == 400);
    CHECK(line("POST a:80 HTTP/1.1") == 400);
    CHECK(line("OPTIONS * HTTP/1.1") == 400);
    CHECK(line("CONNECT a:80 HTTP/1.1") == 400);
    CHECK(line("POST /a#b HTTP/1.1") == 400);
    CHECK(line("POST /\xc3\xa4 HTTP/1.1") == 400);
    CHECK(line("POST /\x7f HTTP/1.1") == 400);
    CHECK(line("POST /\x01 HTTP/1.1") == 400);
    CHECK(line(std::string("POST /\0 HTTP/1.1", 16)) == 400);
    CHECK(line("POST /\x0c HTTP/1.1") == 400);
  }
  SECTION("a long target is 414, however long") {
    RequestLimits limits;
    limits.target_bytes = 100;
    auto target = [](size_t size) {
      return "POST /" + std::string(size - 1, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
    };
    CHECK(gate(target(100), limits) == 0);
    CHECK(gate(target(101), limits) == 414);
    CHECK(gate(target(200), limits) == 414);
    CHECK(gate(target(20000), limits) == 414);
    CHECK(gate("GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n") == 414);
  }
}

TEST_CASE("line ends are CR and LF, and heads hold no other control characters") {
  CHECK(gate("POST / HTTP/1.1\nHost: a\r\n\r\n") == 400);
  CHECK(gate("POST / HTTP/1.1\r\nHost: a\n\r\n") == 400);
  CHECK(gate("POST / HTTP/1.1\r\nHost: a\r\n\n") == 400);
  CHECK(gate("POST / HTTP/1.1\r\nHost: a\r\n\rX\r\n\r\n") == 400);
  CHECK(gate("POST / HTTP/1.1\rHost: a\r\r") == 400);
  CHECK(gate("POST / HTTP/1.1\n\n") == 400);
  CHECK(gate("POST / HTTP/1.1\r\r\nHost: a\r\n\r\n") == 400);
  CHECK(field("X: a\rY: b") == 400);
  CHECK(field("X: a\nY: b") == 400);
  CHECK(field("X:\rTransfer-Encoding: chunked") == 400);
  CHECK(field(std::string("X: a\0b", 6)) == 400);
  CHECK(field("X: a\x01") == 400);
  CHECK(field("X: \x0b"
              "a") == 400);
  CHECK(field("X: a\x7f") == 400);
  CHECK(field("X: \x1b[31m") == 400);
  CHECK(field("X: a\tb") == 0);
  CHECK(field("X: caf\xc3\xa9 \xff\x80") == 0);
  CHECK(field("X:") == 0);
  CHECK(field("X: \t ") == 0);
}

TEST_CASE("the gate wants one whole head") {
  RequestLimits limits;
  CHECK_FALSE(check_request_head("", limits));
  CHECK_FALSE(check_request_head("POST / HTTP/1.1\r\nHost: a\r\n", limits));
  CHECK_FALSE(check_request_head("POST / HTTP/1.1\r\nHost: a\r\n\r\nX: y\r\n\r\n", limits));
  CHECK_FALSE(check_request_head("\r\n\r\n", limits));
  CHECK_FALSE(check_request_head("\n", limits));
}

TEST_CASE("header names") {
  CHECK(field("x_y: a") == 0);
  CHECK(field("!#$%&'*+-.^_`|~09aZ: a") == 0);
  CHECK(field("X-Y : a") == 400);
  CHECK(field("X-Y\t: a") == 400);
  CHECK(field("X Y: a") == 400);
  CHECK(field(": a") == 400);
  CHECK(field("X") == 400);
  CHECK(field("X[1]: a") == 400);
  CHECK(field("X\xc3\xa4: a") == 400);
  CHECK(field("\"X\": a") == 400);
  CHECK(field("Content-Length : 5") == 400);
  CHECK(field("Transfer-Encoding : chunked") == 400);
  CHECK(field(std::string("X\0: a", 5)) == 400);
}

TEST_CASE("folded lines are refused") {
  CHECK(field("X: a\r\n b") == 400);
  CHECK(field("X: a\r\n\tb") == 400);
  CHECK(field("Content-Length:\r\n 5") == 400);
  CHECK(field("X: a\r\n ") == 400);
  CHECK(gate("POST / HTTP/1.1\r\n Host: a\r\n\r\n") == 400);
}

TEST_CASE("Host is there once and valid") {
  CHECK(host("a") == 0);
  CHECK(host("a:1") == 0);
  CHECK(host("my_service.example.com:8080") == 0);
  CHECK(host("127.0.0.1:65535") == 0);
  CHECK(host("[::1]") == 0);
  CHECK(host("[::ffff:1.2.3.4]:80") == 0);
  CHECK(host("a.") == 0);
  CHECK(host(std::string(255, 'a')) == 0);

  const char* refused[] = {
      "",     "a/b",      "u@a",   "a?b",    "a#b",       "a,b",          "a, b",    "a b",
      "a\tb", "a:",       "a:80x", "a:-1",   "a:0",       "a:65536",      "a:99999", "a:1:2",
      ":80",  "a:+80",    "[::1",  "[::1]x", "[::1]:",    "[a]",          "[::g]",   "::1",
      "[]",   "http://a", "a\\b",  "a%00b",  "a\xc3\xa4", "[::1%25eth0]", "a:080808"};
  for (const char* value : refused) {
    INFO(value);
    CHECK(host(value) == 400);
  }
  CHECK(host(std::string(256, 'a')) == 400);
  CHECK(field("Host: a") == 400);  // the second one, though the same
  CHECK(field("hOST: b") == 400);
  CHECK(gate("POST / HTTP/1.1\r\n\r\n") == 400);
  CHECK(gate("POST / HTTP/1.1\r\nX-Host: a\r\n\r\n") == 400);
  CHECK(gate("POST / HTTP/1.0\r\n\r\n") == 0);
  CHECK(gate("POST / HTTP/1.0\r\nHost: a/b\r\n\r\n") == 400);
  CHECK(gate("POST / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n") == 400);
}

TEST_CASE("Content-Length is one plain number") {
  CHECK(field("Content-Length: 0") == 0);
  CHECK(field("Content-Length: \t 007 \t") == 0);
  CHECK(check_request_head("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999999\r\n\r\n", {}));
  const char* refused[] = {"",
                           "+2",
                           "-2",
                           "-0",
                           "0x2",
                           "2, 2",
                           "2,2",
                           "1 0",
                           "1_0",
                           "1e3",
                           "2.0",
                           "two",
                           "2;a=b",
                           "0o5",
                           "\"2\"",
                           "18446744073709551615",
                           "18446744073709551616",
                           "1000000000000000",
                           "0000000000000001"};
  for (const char* value : refused) {
    INFO(value);
    CHECK(field(std::string("Content-Length: ") + value) == 400);
  }
  CHECK(field("Content-Length: 2\r\nContent-Length: 2") == 400);
  CHECK(field("Content-Length: 2\r\ncontent-length: 3") == 400);
}

TEST_CASE("Transfer-Encoding is exactly chunked, or not there") {
  auto coding = [](const std::string& value) { return field("Transfer-Encoding: " + value); };
  CHECK(coding("chunked") == 0);
  CHECK(coding("Chunked") == 0);
  CHECK(coding("\tchunked \t") == 0);

  SECTION("unknown codings are 501") {
    CHECK(coding("gzip") == 501);
    CHECK(coding("identity") == 501);
    CHECK(coding("xchunked") == 501);
    CHECK(coding("gzip, chunked") == 501);
    CHECK(coding("pigeons") == 501);
  }
  SECTION("no agreed end of body is 400") {
    CHECK(coding("") == 400);
    CHECK(coding("chunked, chunked") == 400);
    CHECK(coding("chunked, gzip") == 400);
    CHECK(coding("chunked, identity") == 400);
    CHECK(coding(", chunked") == 400);
    CHECK(coding("chunked,") == 400);
    CHECK(coding("chunked;a=b") == 400);
    CHECK(coding("\"chunked\"") == 400);
    CHECK(coding("chunked chunked") == 400);
    CHECK(coding("\x0b"
                 "chunked") == 400);
    CHECK(coding("\xa0"
                 "chunked") == 400);
    CHECK(coding(std::string("chunked\0", 8)) == 400);
    CHECK(field("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked") == 400);
    CHECK(field("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked") == 400);
    CHECK(field("Transfer-Encoding:\r\n chunked") == 400);
  }
  SECTION("never with Content-Length, never in HTTP/1.0") {
    CHECK(field("Transfer-Encoding: chunked\r\nContent-Length: 5") == 400);
    CHECK(field("Content-Length: 5\r\nTransfer-Encoding: chunked") == 400);
    CHECK(field("Content-Length: 5\r\nTransfer-Encoding:") == 400);
    CHECK(field("Content-Length: 5\r\nTransfer-Encoding: gzip") == 400);
    CHECK(gate("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") == 400);
  }
}

TEST_CASE("Expect is 100-continue or 417") {
  CHECK(field("Expect: 100-continue") == 0);
  CHECK(field("Expect: 100-Continue") == 0);
  CHECK(field("Expect: 200-ok") == 417);
  CHECK(field("Expect:") == 417);
  CHECK(field("Expect: 100-continue, x") == 417);
}

TEST_CASE("heads are bounded in fields and bytes") {
  RequestLimits limits;
  limits.fields = 3;
  std::string head = "POST / HTTP/1.1\r\nHost: a\r\nX: 1\r\nX: 2\r\n";
  CHECK(gate(head + "\r\n", limits) == 0);
  CHECK(gate(head + "X: 3\r\n\r\n", limits) == 431);

  limits = {};
  limits.head_bytes = head.size() + 2;
  CHECK(gate(head + "\r\n", limits) == 0);
  limits.head_bytes = head.size() + 1;
  CHECK(gate(head + "\r\n", limits) == 431);
  CHECK(field("X: " + std::string(33000, 'a')) == 431);
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += "\r\nX: 1";
  CHECK(field("X: 0" + many) == 431);
}
