// The result of a message must not depend on the one before it on its connection, though parsers remember the
// last head.
#include "protocol/http/head_memo.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "protocol/http/response_parser.h"
#include "unit/protocol/http/feed.h"

using namespace lineward::http;

namespace {

// Every text that differs from `text` in one byte, has one more, or one less.
std::vector<std::string> neighbours(const std::string& text) {
  const std::string bytes("\r\n \t:0195aA,;\0\x7f\x80", 17);
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size(); ++at) {
    for (char byte : bytes) {
      std::string other = text;
      other[at] = byte;
      out.push_back(other);
      out.push_back(std::string(text).insert(at, 1, byte));
    }
    out.push_back(std::string(text).erase(at, 1));
  }
  return out;
}

Outcome read_on(RequestParser& parser, const std::string& bytes) {
  Outcome out;
  parser.append(bytes);
  pump(parser, out);
  out.phase = parser.phase();
  out.buffered = parser.buffered();
  return out;
}

Outcome alone(const std::string& bytes) {
  RequestParser parser{RequestLimits()};
  return read_on(parser, bytes);
}

// The result of the second of two requests.
Outcome second(const std::string& one, const std::string& other) {
  RequestParser parser{RequestLimits()};
  REQUIRE(read_on(parser, one).first_complete());
  return read_on(parser, other);
}

std::string read_all(ResponseParser& parser, const std::string& bytes) {
  parser.begin();
  parser.append(bytes);
  std::string out;
  for (;;) {
    switch (parser.next()) {
      case ResponseParser::Next::need_more: return out + "more";
      case ResponseParser::Next::head: {
        const ResponseInfo& info = parser.info();
        out += std::to_string(info.status) + (info.keep_alive ? "+" : "-");
        for (const Header& field : info.headers.all())
          out.append(field.name).append("=").append(field.value).append("|");
        break;
      }
      case ResponseParser::Next::body: out += parser.body(); break;
      case ResponseParser::Next::complete: return out + (parser.trailing() ? " and more" : "");
      case ResponseParser::Next::failed: return out + parser.fault();
    }
  }
}

}  // namespace

TEST_CASE("a request is read the same behind one that is like it") {
  const std::string body = "12345";
  const std::vector<std::string> heads = {
      "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX: y\r\n\r\n",
      "POST /mcp HTTP/1.1\r\nContent-Length: 05\r\nHost: a\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
      "POST / HTTP/1.1\r\nHost:\ta \r\nX:\t y\tz \t\r\nContent-Length:\t5\t\r\n\r\n",
      "POST http://b:1/mcp?x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
      "POST http://b HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n"};
  for (const std::string& head : heads) {
    for (const std::string& other : neighbours(head)) {
      const Outcome expected = alone(other + body);
      const Outcome got = second(head + body, other + body);
      if (!(got == expected)) FAIL(other << "\n" << got.text << "\n" << expected.text);
    }
  }
}

TEST_CASE("requests without a body and with chunks are read the same behind their like") {
  const std::string get = "GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const std::string& other : neighbours(get)) {
    if (!(second(get, other) == alone(other))) FAIL(other);
  }
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string pieces = "3\r\nabc\r\n0\r\n\r\n";
  for (const std::string& other : neighbours(chunked)) {
    if (!(second(chunked + pieces, other + pieces) == alone(other + pieces))) FAIL(other);
  }
}

TEST_CASE("a length of as many digits is another length") {
  const std::string begin = "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: ";
  const Outcome got =
      second(begin + "12\r\n\r\n" + std::string(12, 'x'), begin + "34\r\n\r\n" + std::string(34, 'y'));
  REQUIRE(got.requests.size() == 1);
  CHECK(got.requests[0].body == std::string(34, 'y'));
  CHECK(got.requests[0].headers.back().second == "34");
  RequestLimits limits;
  limits.body_bytes = 20;
  RequestParser parser(limits);
  Outcome out;
  parser.append(begin + "12\r\n\r\n" + std::string(12, 'x') + begin + "34\r\n\r\n");
  pump(parser, out);
  CHECK(out.status == 413);
}

TEST_CASE("only a head that is repeated keeps its number") {
  RequestParser parser{RequestLimits()};
  CHECK(parser.head().number == 0);
  auto number = [&](const std::string& fields, const std::string& body) {
    parser.append("POST /mcp HTTP/1.1\r\nHost: a\r\n" + fields +
                  "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    REQUIRE(parser.next() == RequestParser::Next::head);
    const uint64_t found = parser.head().number;
    REQUIRE(parser.next() == RequestParser::Next::complete);
    CHECK(parser.head().number == found);
    CHECK(parser.head().body_bytes == body.size());
    CHECK(parser.take_body() == body);
    parser.next_request();
    return found;
  };
  std::set<uint64_t> numbers = {0};
  for (const char* fields : {"", "X: y\r\n", "X: z\r\n", "X: y\r\n"}) {
    const uint64_t first = number(fields, "12");
    CHECK(numbers.insert(first).second);
    CHECK(number(fields, "34") == first);
    CHECK(number(fields, "345678901") == first);
    CHECK(numbers.insert(number(fields, "3456789012")).second);  // longer by a digit
  }
  const std::string big = "X: " + std::string(20'000, 'x') + "\r\n";  // is not remembered
  CHECK(numbers.insert(number(big, "12")).second);
  CHECK(numbers.insert(number(big, "12")).second);
  CHECK(numbers.insert(number("", "12")).second);
}

TEST_CASE("a response is read the same behind one that is like it") {
  const std::string body = "12345";
  const std::vector<std::string> heads = {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: a\r\n\r\n",
                                          "HTTP/1.1 404 Not Found\r\nX: y\r\nContent-Length: 5\r\n\r\n"};
  for (const std::string& head : heads) {
    for (const std::string& other : neighbours(head)) {
      ResponseParser fresh{ResponseLimits()}, used{ResponseLimits()};
      REQUIRE(read_all(used, head + body).size() > 5);
      const std::string expected = read_all(fresh, other + body);
      const std::string got = read_all(used, other + body);
      if (got != expected) FAIL(other << "\n" << got << "\n" << expected);
    }
  }
}

TEST_CASE("the body of a response that is like the last one has its own length and limit") {
  ResponseLimits limits;
  limits.body_bytes = 20;
  ResponseParser parser(limits);
  const std::string begin = "HTTP/1.1 200 OK\r\nContent-Length: ";
  CHECK(read_all(parser, begin + "12\r\n\r\n" + std::string(12, 'x')) ==
        "200+Content-Length=12|" + std::string(12, 'x'));
  CHECK(read_all(parser, begin + "14\r\n\r\n" + std::string(14, 'y')) ==
        "200+Content-Length=14|" + std::string(14, 'y'));
  CHECK(read_all(parser, begin + "34\r\n\r\n" + std::string(34, 'z')) ==
        "200+Content-Length=34|its body has more than 20 bytes");
}
