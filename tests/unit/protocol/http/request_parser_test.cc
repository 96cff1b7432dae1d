#include "protocol/http/request_parser.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "unit/protocol/http/feed.h"

using namespace lineward::http;
using Next = RequestParser::Next;
using Phase = RequestParser::Phase;

namespace {

const std::string kHead = "POST /mcp HTTP/1.1\r\nHost: a\r\n";

std::string with_body(const std::string& body, const std::string& extra = "") {
  return kHead + extra + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string chunked(const std::string& framed) {
  return kHead + "Transfer-Encoding: chunked\r\n\r\n" + framed;
}

}  // namespace

TEST_CASE("a request with a body") {
  Outcome got = feed(
      "POST /mcp?x=1?y HTTP/1.1\r\nHost: a:80\r\nX-Empty:\r\nX:  b \t\r\nContent-Length: 5\r\n\r\nhello");
  REQUIRE(got.requests.size() == 1);
  const SeenRequest& request = got.requests[0];
  CHECK(request.complete);
  CHECK(request.method == "POST");
  CHECK(request.target == "/mcp?x=1?y");
  CHECK(request.path == "/mcp");
  CHECK(request.minor_version == 1);
  CHECK(request.keep_alive);
  CHECK_FALSE(request.expect_continue);
  CHECK(request.body == "hello");
  std::vector<std::pair<std::string, std::string>> headers = {
      {"Host", "a:80"}, {"X-Empty", ""}, {"X", "b"}, {"Content-Length", "5"}};
  CHECK(request.headers == headers);
  CHECK(got.phase == Phase::idle);
  CHECK(got.buffered == 0);
}

TEST_CASE("requests without body") {
  for (std::string method : {"GET", "HEAD", "POST", "DELETE", "OPTIONS", "TRACE", "PUT", "PATCH"}) {
    Outcome got = feed(method + " / HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(got.requests.size() == 1);
    CHECK(got.requests[0].complete);
    CHECK(got.requests[0].method == method);
    CHECK(got.requests[0].body.empty());
  }
}

TEST_CASE("methods llhttp does not know are 501") {
  CHECK(verdict("BREW / HTTP/1.1\r\nHost: a\r\n\r\n") == 501);
  CHECK(verdict("post / HTTP/1.1\r\nHost: a\r\n\r\n") == 501);
  CHECK(verdict("DESCRIBE / HTTP/1.1\r\nHost: a\r\n\r\n") == 501);
  CHECK(verdict("POSTX / HTTP/1.1\r\nHost: a\r\n\r\n") == 501);
}

TEST_CASE("the order of next() and phase()") {
  RequestParser parser({});
  CHECK(parser.phase() == Phase::idle);
  CHECK(parser.next() == Next::need_more);
  parser.append("\r\n");
  CHECK(parser.next() == Next::need_more);
  CHECK(parser.phase() == Phase::idle);  // an empty line starts no request
  parser.append("POST / HT");
  CHECK(parser.buffered() == 9);
  CHECK(parser.next() == Next::need_more);
  CHECK(parser.phase() == Phase::in_head);
  parser.append("TP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
  CHECK(parser.next() == Next::head);
  CHECK(parser.phase() == Phase::in_body);
  CHECK(parser.head().method == "POST");
  CHECK(parser.next() == Next::need_more);
  parser.append("cdGET / HTTP/1.1\r\nHost: b\r\n\r\n");
  CHECK(parser.next() == Next::complete);
  CHECK(parser.next() == Next::complete);  // until it is taken
  CHECK(parser.phase() == Phase::complete);
  CHECK(parser.head().headers.get("host") == "a");
  CHECK(parser.take_body() == "abcd");
  CHECK(parser.buffered() == 27);
  parser.next_request();
  CHECK(parser.phase() == Phase::idle);
  CHECK(parser.next() == Next::head);
  CHECK(parser.head().headers.get("host") == "b");
  CHECK(parser.next() == Next::complete);
  CHECK(parser.take_body().empty());
}

TEST_CASE("pipelined requests come one by one, and a bad one fails in its turn") {
  Outcome got =
      feed(with_body("one") + chunked("3\r\ntwo\r\n0\r\n\r\n") + "\r\n" + with_body("three") + "BAD\r\n");
  REQUIRE(got.requests.size() == 3);
  CHECK(got.requests[0].body == "one");
  CHECK(got.requests[1].body == "two");
  CHECK(got.requests[2].body == "three");
  CHECK(got.requests[0].announced == 3);
  CHECK(got.requests[1].announced == UINT64_MAX);
  CHECK(got.status == 400);

  RequestParser parser({});
  parser.append(with_body("one") + "\x16\x03\x01");
  CHECK(parser.next() == Next::head);
  CHECK(parser.next() == Next::complete);
  CHECK(parser.next() == Next::complete);  // the answer gets out first
  parser.next_request();
  CHECK(parser.next() == Next::failed);
  CHECK(parser.next() == Next::failed);
  CHECK(parser.phase() == Phase::failed);
  parser.append("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(parser.next() == Next::failed);
  CHECK(parser.buffered() == 0);
}

TEST_CASE("what follows a request that closes is ignored") {
  Outcome got = feed(with_body("x", "Connection: close\r\n") + "GET garbage\n\n" + with_body("y"));
  REQUIRE(got.requests.size() == 1);
  CHECK(got.requests[0].complete);
  CHECK_FALSE(got.requests[0].keep_alive);
  CHECK_FALSE(got.failed());
  CHECK(got.buffered == 0);
}

TEST_CASE("keep-alive") {
  auto keeps = [](const std::string& version, const std::string& fields) {
    Outcome got = feed("GET / " + version + "\r\nHost: a\r\n" + fields + "\r\n");
    REQUIRE(got.first_complete());
    return got.requests[0].keep_alive;
  };
  CHECK(keeps("HTTP/1.1", ""));
  CHECK(keeps("HTTP/1.1", "Connection: keep-alive\r\n"));
  CHECK_FALSE(keeps("HTTP/1.1", "Connection: close\r\n"));
  CHECK_FALSE(keeps("HTTP/1.1", "Connection: x, CLOSE\r\n"));
  CHECK_FALSE(keeps("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  CHECK_FALSE(keeps("HTTP/1.0", ""));
  CHECK(keeps("HTTP/1.0", "Connection: Keep-Alive\r\n"));
  CHECK_FALSE(keeps("HTTP/1.0", "Connection: keep-alive, close\r\n"));
}

TEST_CASE("Expect: 100-continue counts with a body on HTTP/1.1") {
  auto expects = [](const std::string& bytes) {
    Outcome got = feed(bytes);
    REQUIRE(got.first_complete());
    return got.requests[0].expect_continue;
  };
  CHECK(expects(with_body("x", "Expect: 100-continue\r\n")));
  CHECK(expects(kHead + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
  CHECK_FALSE(expects(with_body("", "Expect: 100-continue\r\n")));
  CHECK_FALSE(expects("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"));
}

TEST_CASE("an offer to upgrade is an ordinary request") {
  std::string offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
  Outcome got = feed(with_body("{\"a\":1}", offer) + with_body("next"));
  REQUIRE(got.requests.size() == 2);
  CHECK(got.requests[0].body == "{\"a\":1}");
  CHECK(got.requests[0].keep_alive);
  CHECK(got.requests[1].body == "next");

  got = feed("GET / HTTP/1.1\r\nHost: a\r\n" + offer + "\r\n" + with_body("next"));
  REQUIRE(got.requests.size() == 2);
  got = feed(kHead + offer + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" + with_body("next"));
  REQUIRE(got.requests.size() == 2);
  CHECK(got.requests[0].body == "x");
}

TEST_CASE("at most two empty lines before a request") {
  std::string request = with_body("x");
  CHECK(verdict("\r\n" + request) == 0);
  CHECK(verdict("\r\n\r\n" + request) == 0);
  CHECK(verdict("\r\n\r\n\r\n" + request) == 400);
  CHECK(verdict("\n" + request) == 400);
  CHECK(verdict("\r" + request) == 400);
  CHECK(verdict("\r\n\n" + request) == 400);
  CHECK(verdict(" \r\n" + request) == 400);
  CHECK(feed(request + "\r\n\r\n" + request).requests.size() == 2);
}

TEST_CASE("a head that cannot become valid fails before it ends") {
  CHECK(verdict("\x16\x03\x01\x02") == 400);              // TLS
  CHECK(verdict("POST / HTTP/1.1\n") == 400);             // bare LF
  CHECK(verdict("GET /\r\n") == 400);                     // HTTP/0.9
  CHECK(verdict("PRI * HTTP/2.0\r\n") == 505);            // HTTP/2 preface
  CHECK(verdict("POST / HTTP/1.1\r\nX: a\rb") == 400);    // bare CR
  CHECK(verdict("POST / HTTP/1.1\r\nX: a\r\n ") == 400);  // folding
  CHECK(verdict("POST /" + std::string(9000, 'a')) == 414);
  CHECK(verdict(std::string(9000, 'a')) == 501);
  CHECK(verdict("POST / HTTP/1.1\r\nX: " + std::string(33000, 'a')) == 431);
  CHECK(verdict("POST / HTTP/1.1\r\nHost: a\r\n") == -1);
  CHECK(verdict("P") == -1);
  CHECK(verdict("\r") == -1);
}

TEST_CASE("bodies are bounded") {
  RequestLimits limits;
  limits.body_bytes = 10;
  CHECK(verdict(with_body(std::string(10, 'x')), limits) == 0);
  CHECK(verdict(with_body(std::string(11, 'x')), limits) == 413);
  CHECK(verdict(kHead + "Content-Length: 11\r\n\r\n", limits) == 413);  // right at the head
  CHECK(verdict(chunked("A\r\n0123456789\r\n0\r\n\r\n"), limits) == 0);
  CHECK(verdict(chunked("b\r\n"), limits) == 413);
  CHECK(verdict(chunked("9\r\n012345678\r\n1\r\n9\r\n0\r\n\r\n"), limits) == 0);
  CHECK(verdict(chunked("9\r\n012345678\r\n2\r\n"), limits) == 413);
  CHECK(verdict(chunked("ffffffffffffffff\r\n"), limits) == 413);
}

TEST_CASE("chunked bodies") {
  Outcome got = feed(chunked("5\r\nhello\r\n1\r\n \r\n00A\r\nbig\r\nworld\r\n000\r\n\r\n"));
  REQUIRE(got.first_complete());
  CHECK(got.requests[0].body == "hello big\r\nworld");
  CHECK(verdict(chunked("0\r\n\r\n")) == 0);
  CHECK(verdict(chunked("a\r\n0123456789\r\n0\r\n\r\n")) == 0);
  CHECK(verdict(chunked("0000000000000001\r\nx\r\n0000000000000000\r\n\r\n")) == 0);
  CHECK(verdict(chunked("5\r\nhel")) == -1);
  CHECK(verdict(chunked("5\r\nhello\r\n")) == -1);
  CHECK(verdict(chunked("0\r\n")) == -1);

  const char* refused[] = {"5;\r\nhello\r\n0\r\n\r\n",
                           "5 \r\nhello\r\n0\r\n\r\n",
                           " 5\r\nhello\r\n0\r\n\r\n",
                           "+5\r\nhello\r\n0\r\n\r\n",
                           "-5\r\nhello\r\n0\r\n\r\n",
                           "0x5\r\nhello\r\n0\r\n\r\n",
                           "5_\r\nhello\r\n0\r\n\r\n",
                           "\r\nhello",
                           "5\nhello\r\n0\r\n\r\n",
                           "5\rhello\r\n0\r\n\r\n",
                           "5\r\nhello0\r\n\r\n",
                           "5\r\nhelloXX0\r\n\r\n",
                           "5\r\nhello\n0\r\n\r\n",
                           "5\r\nhello\rX0\r\n\r\n",
                           "5\r\nhello!!\r\n0\r\n\r\n",
                           "00000000000000005\r\nhello",
                           "10000000000000005\r\n",
                           "0\r\n\n",
                           "0\n\r\n",
                           "0\r\nX: y\r\n\r\n",
                           "0\r\nContent-Length: 5\r\n\r\n",
                           "0\r\n\rX",
                           "g\r\n",
                           "5\t\r\nhello",
                           "0;\r\n\r\n"};
  for (const char* framed : refused) {
    INFO(framed);
    CHECK(verdict(chunked(framed)) == 400);
  }
}

TEST_CASE("the framing of a chunked body costs no more than its content and a bit") {
  auto ones = [](size_t count) {
    std::string all;
    for (size_t i = 0; i < count; ++i)
      all += "1\r\nx\r\n";
    return feed_parts({chunked(all + "0\r\n\r\n")}, {});
  };
  CHECK(ones(3000).first_complete());
  CHECK(ones(100000).status == 400);
  std::string tens;
  for (int i = 0; i < 100000; ++i)
    tens += "a\r\n0123456789\r\n";
  CHECK(feed_parts({chunked(tens + "0\r\n\r\n")}, {}).first_complete());
}

TEST_CASE("a large body in pieces of many sizes, with pipelined requests behind it") {
  std::string body;
  for (int i = 0; body.size() < 3'000'000; ++i)
    body += std::to_string(i);
  std::string framed = chunked("");
  for (size_t at = 0; at < body.size(); at += 70000) {
    std::string part = body.substr(at, 70000);
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", part.size());
    framed += size + part + "\r\n";
  }
  framed += "0\r\n\r\n";
  std::string wire = with_body(body) + framed + with_body("tail");
  for (size_t step : {wire.size(), size_t{65536}, size_t{1000}, size_t{77}}) {
    std::vector<std::string_view> parts;
    for (size_t at = 0; at < wire.size(); at += step)
      parts.push_back(std::string_view(wire).substr(at, step));
    Outcome got = feed_parts(parts, {});
    REQUIRE(got.requests.size() == 3);
    CHECK((got.requests[0].body == body));
    CHECK((got.requests[1].body == body));
    CHECK(got.requests[2].body == "tail");
  }
}

TEST_CASE("many pipelined requests in one piece") {
  std::string wire;
  for (int i = 0; i < 20000; ++i)
    wire += with_body(std::to_string(i));
  Outcome got = feed_parts({wire}, {});
  REQUIRE(got.requests.size() == 20000);
  CHECK(got.requests[19999].body == "19999");
  CHECK(got.buffered == 0);
}

TEST_CASE("a parser that is moved goes on in the middle of a body, and leaves one behind that is as new") {
  lineward::http::RequestLimits limits;
  lineward::http::RequestParser first(limits);
  first.append("POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
  REQUIRE(first.next() == Next::head);
  lineward::http::RequestParser second(std::move(first));
  CHECK(second.head().path == "/mcp");
  second.append("67890GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  REQUIRE(second.next() == Next::complete);
  CHECK(second.take_body() == "1234567890");
  second.next_request();
  REQUIRE(second.next() == Next::head);
  CHECK(second.head().path == "/x");
  REQUIRE(second.next() == Next::complete);
  CHECK(first.held() == 0);  // NOLINT(bugprone-use-after-move): what its connection still asks
  CHECK(first.next() == Next::need_more);
}

TEST_CASE("a parser that rests goes on with the next request, and its heads have new numbers") {
  const std::string text = with_body("a");
  lineward::http::RequestLimits limits;
  lineward::http::RequestParser parser(limits);
  const auto answer_one = [&] {
    parser.append(text);
    REQUIRE(parser.next() == Next::head);
    REQUIRE(parser.next() == Next::complete);
    CHECK(parser.take_body() == "a");
    const uint64_t number = parser.head().number;
    parser.next_request();
    return number;
  };
  parser.rest();
  const uint64_t first = answer_one();
  CHECK(answer_one() == first);  // a head that is repeated keeps its number
  parser.rest();
  CHECK(parser.phase() == Phase::idle);
  CHECK(parser.head().number == 0);
  CHECK(answer_one() == first + 1);

  // It does not rest within a request, nor with bytes that wait.
  parser.append(text.substr(0, 10));
  CHECK(parser.next() == Next::need_more);
  parser.rest();
  CHECK(parser.phase() == Phase::in_head);
  parser.append(text.substr(10) + text);
  REQUIRE(parser.next() == Next::head);
  parser.rest();
  REQUIRE(parser.next() == Next::complete);
  parser.next_request();
  parser.rest();
  CHECK(parser.next() == Next::head);
}

TEST_CASE("a connection that must close does not rest") {
  lineward::http::RequestLimits limits;
  lineward::http::RequestParser parser(limits);
  parser.append("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  REQUIRE(parser.next() == Next::head);
  REQUIRE(parser.next() == Next::complete);
  parser.next_request();
  parser.rest();
  parser.append("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(parser.next() == Next::need_more);
}
