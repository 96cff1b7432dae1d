#include "protocol/http/response_parser.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "protocol/http/response_gate.h"

using namespace lineward::http;
using Next = ResponseParser::Next;

namespace {

// The result of one response: "200 body", "fault: …", or "more" when bytes are missing.
std::string outcome(ResponseParser& parser) {
  std::string body;
  int status = 0;
  for (;;) {
    switch (parser.next()) {
      case Next::need_more: return "more";
      case Next::head: status = parser.info().status; break;
      case Next::body: body += parser.body(); break;
      case Next::complete: return std::to_string(status) + " " + body;
      case Next::failed: return "fault: " + parser.fault();
    }
  }
}

std::string whole(const std::string& bytes, bool end = false, ResponseLimits limits = {}) {
  ResponseParser parser(limits);
  parser.begin();
  parser.append(bytes);
  if (end) parser.finish();
  return outcome(parser);
}

// The same in pieces, which are borrowed: the result must not depend on where the bytes were cut.
std::string in_pieces(const std::string& bytes, size_t size, bool end = false, ResponseLimits limits = {}) {
  ResponseParser parser(limits);
  parser.begin();
  std::string body;
  int status = 0;
  for (size_t at = 0; at < bytes.size() + size; at += size) {
    const std::string piece = at < bytes.size() ? bytes.substr(at, size) : std::string();
    parser.borrow(piece);
    if (piece.empty() && end) parser.finish();
    for (bool more = true; more;) {
      switch (parser.next()) {
        case Next::need_more: more = false; break;
        case Next::head: status = parser.info().status; break;
        case Next::body: body += parser.body(); break;
        case Next::complete: return std::to_string(status) + " " + body;
        case Next::failed: return "fault: " + parser.fault();
      }
    }
  }
  return "more";
}

std::string bytewise(const std::string& bytes, bool end = false, ResponseLimits limits = {}) {
  return in_pieces(bytes, 1, end, limits);
}

const std::string kOk = "HTTP/1.1 200 OK\r\n";

}  // namespace

TEST_CASE("bodies by length, by chunks and by the end of the connection") {
  struct {
    std::string bytes;
    bool end;
    std::string want;
  } cases[] = {
      {kOk + "Content-Length: 5\r\n\r\nhello", false, "200 hello"},
      {kOk + "Content-Length: 0\r\n\r\n", false, "200 "},
      {kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", false, "200 hello!"},
      {kOk + "\r\nhello", true, "200 hello"},
      {"HTTP/1.0 200 OK\r\n\r\nhello", true, "200 hello"},
      {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", false, "204 "},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false, "304 "},
      {"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", false, "200 x"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + kOk +
           "Content-Length: 1\r\n\r\nx",
       false, "200 x"},
      {kOk + "Content-Length: 5\r\n\r\nhell", false, "more"},
      {kOk + "\r\nhello", false, "more"},
      {kOk + "Content-Length: 5\r\n\r\nhell", true, "fault: its body was cut off"},
      {kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", true, "fault: its body was cut off"},
      {kOk + "Content-Le", true, "fault: its head was cut off"},
      {"", true, "fault: the connection ended before its answer"},
  };
  for (const auto& one : cases) {
    INFO(one.bytes);
    CHECK(whole(one.bytes, one.end) == one.want);
    CHECK(bytewise(one.bytes, one.end) == one.want);
  }
}

// RFC 9112 7.1.1 and RFC 9110 5.6.3: read as in requests.
TEST_CASE("chunk extensions and tabs around values are taken from servers too") {
  const std::string chunked = kOk + "Transfer-Encoding:\tchunked\t\r\n\r\n";
  for (const char* extension : {";a=b", ";a", " ;a = b", ";a=\"b;\\\"c\"", ";a;b;c=\"\""}) {
    INFO(extension);
    const std::string bytes = chunked + "5" + extension + "\r\nhello\r\n0" + extension + "\r\n\r\n";
    CHECK(whole(bytes) == "200 hello");
    CHECK(bytewise(bytes) == "200 hello");
  }
  for (const char* extension : {";", ";a=", ";a;", " ", ";a\n", ";a\rb", ";a=\"\n\"", ";a=\"\r\n\"", ";a=\"b",
                                ";a=\"\\\r\"", ";\x01"}) {
    INFO(extension);
    const std::string bytes = chunked + "5" + extension + "\r\nhello\r\n0\r\n\r\n";
    CHECK(whole(bytes).rfind("fault: ", 0) == 0);
    CHECK(bytewise(bytes).rfind("fault: ", 0) == 0);
  }
  for (const char* value : {"\t5", "5\t", "\t5\t", " \t 5 \t "}) {
    INFO(value);
    const std::string bytes = kOk + "Content-Length:" + value + "\r\nX:\ty\t\r\n\r\nhello";
    CHECK(whole(bytes) == "200 hello");
    CHECK(bytewise(bytes) == "200 hello");
  }
}

TEST_CASE("heads that two readers could take differently are refused") {
  for (const std::string& bytes : std::vector<std::string>{
           "HTTP/2.0 200 OK\r\n\r\n",
           "HTTP/1.1 20 OK\r\n\r\n",
           "HTTP/1.1 0200 OK\r\n\r\n",
           "HTTP/1.1 099 OK\r\n\r\n",
           "HTTP/1.1 600 OK\r\n\r\n",
           "HTTP/1.1  200 OK\r\n\r\n",
           "ICY 200 OK\r\n\r\n",
           "SSH-2.0-OpenSSH\r\n",
           "\r\n" + kOk + "\r\n",
           kOk + "X: a\nY: b\r\n\r\n",
           "HTTP/1.1 200 OK\n\n",
           kOk + "X: a\r\n b\r\n\r\n",
           kOk + "X : a\r\n\r\n",
           kOk + ": a\r\n\r\n",
           kOk + "X\r\n\r\n",
           kOk + std::string("X: a\0b\r\n\r\n", 10),
           kOk + "X: a\rb\r\n\r\n",
           kOk + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
           kOk + "Content-Length: 1, 1\r\n\r\nx",
           kOk + "Content-Length: +1\r\n\r\nx",
           kOk + "Content-Length: 0x1\r\n\r\nx",
           kOk + "Content-Length: 18446744073709551615\r\n\r\nx",
           kOk + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           kOk + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
           kOk + "Transfer-Encoding: gzip\r\n\r\nx",
           kOk + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
       }) {
    INFO(bytes);
    CHECK(whole(bytes).rfind("fault: ", 0) == 0);
    CHECK(bytewise(bytes).rfind("fault: ", 0) == 0);
  }
}

// Two look at it: what one of them takes the other would refuse, and where a proxy answers CONNECT there is
// the gate alone.
TEST_CASE("a length beside a coding is refused by the gate, before the parser sees it") {
  for (const char* fields : {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
                             "transfer-encoding: chunked\r\nX: y\r\ncontent-length: 0\r\n"}) {
    INFO(fields);
    const std::string head = kOk + fields + "\r\n";
    CHECK_FALSE(check_response_head(head, {}));
    CHECK(whole(head + "0\r\n\r\n") == "fault: it has a length and a transfer coding");
    CHECK(bytewise(head + "0\r\n\r\n") == "fault: it has a length and a transfer coding");
  }
  CHECK(check_response_head(kOk + "Transfer-Encoding: chunked\r\n\r\n", {}));
  CHECK(check_response_head(kOk + "Content-Length: 1\r\n\r\n", {}));
}

TEST_CASE("nothing grows without a limit") {
  ResponseLimits limits;
  limits.head_bytes = 1000;
  limits.fields = 5;
  limits.body_bytes = 10;
  limits.interim = 3;
  CHECK(whole(kOk + "X: " + std::string(2000, 'a'), false, limits) ==
        "fault: its head has more than 1000 bytes");
  CHECK(whole(kOk + "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\nF: 1\r\n\r\n", false, limits) ==
        "fault: it has more than 5 header fields");
  std::string storm;
  for (int i = 0; i < 4; ++i)
    storm += "HTTP/1.1 102 Processing\r\n\r\n";
  CHECK(whole(storm, false, limits) == "fault: it has more than 3 interim responses");
  CHECK(whole(kOk + "Content-Length: 11\r\n\r\nhello world", false, limits) ==
        "fault: its body has more than 10 bytes");
  CHECK(whole(kOk + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(20000, 'x') + "\r\na\r\n") ==
        "fault: its body is not framed as announced: "
        "The extensions of a chunk must not have more than 1024 bytes.");
  CHECK(whole(kOk + "Transfer-Encoding: chunked\r\n\r\n" + std::string(20000, '0') + "1\r\na\r\n")
            .rfind("fault: ", 0) == 0);
}

TEST_CASE("ResponseParser: borrowed pieces of any size have the result of the whole") {
  const std::string heads = "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + kOk;
  for (const std::string& bytes :
       {heads + "Content-Length: 26\r\n\r\nabcdefghijklmnopqrstuvwxyz",
        heads + "Transfer-Encoding: "
                "chunked\r\n\r\n5\r\nhello\r\n1a;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
        heads + "\r\nuntil the end", heads + "Content-Length: 2\r\n\r\nabc",
        heads + "Content-Length: 9\r\n\r\nabc"}) {
    CAPTURE(bytes);
    for (size_t size = 1; size <= bytes.size(); ++size) {
      CAPTURE(size);
      CHECK(in_pieces(bytes, size, true) == whole(bytes, true));
    }
  }
}

TEST_CASE("ResponseParser: a response follows one with a borrowed rest") {
  ResponseParser parser((ResponseLimits()));
  for (int i = 0; i < 3; ++i) {
    parser.begin();
    for (std::string piece :
         {kOk + "Content-Le", std::string("ngth: 4\r\n\r\n"), std::string("an"), std::string("swer")}) {
      parser.borrow(piece);
      while (parser.next() == Next::head || !parser.body().empty())
        continue;
    }
    CHECK(parser.next() == Next::complete);
    CHECK(parser.trailing());  // two bytes more than announced
  }
}

TEST_CASE("a stream of many small chunks has no limit as a whole") {
  ResponseLimits limits;
  limits.body_bytes = 100;
  ResponseParser parser(limits);
  parser.begin();
  parser.append(kOk + "Transfer-Encoding: chunked\r\n\r\n");
  REQUIRE(parser.next() == Next::head);
  parser.unlimited_body();
  size_t got = 0;
  for (int i = 0; i < 20000; ++i) {
    parser.append("3\r\n:\n\n\r\n");
    REQUIRE(parser.next() == Next::body);
    got += parser.body().size();
  }
  CHECK(got == 60000);
  CHECK(parser.next() == Next::need_more);
}

TEST_CASE("what may be used again") {
  auto keeps = [](const std::string& head) {
    ResponseParser parser((ResponseLimits()));
    parser.begin();
    parser.append(head);
    REQUIRE(parser.next() == Next::head);
    return parser.info().keep_alive;
  };
  CHECK(keeps(kOk + "Content-Length: 0\r\n\r\n"));
  CHECK_FALSE(keeps(kOk + "Content-Length: 0\r\nConnection: x, Close\r\n\r\n"));
  CHECK_FALSE(keeps(kOk + "\r\n"));
  CHECK_FALSE(keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  CHECK(keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"));

  ResponseParser parser((ResponseLimits()));
  for (int i = 0; i < 3; ++i) {
    parser.begin();
    parser.append(kOk + "Content-Length: 2\r\n\r\nok");
    CHECK(outcome(parser) == "200 ok");
    CHECK_FALSE(parser.trailing());
  }
  parser.append("x");
  CHECK(parser.trailing());
  ResponseParser two((ResponseLimits()));
  two.begin();
  two.append(kOk + "Content-Length: 2\r\n\r\nok" + kOk);
  CHECK(outcome(two) == "200 ok");
  CHECK(two.trailing());
}

TEST_CASE(
    "ResponseParser: trailers are read over, up to a limit, and the next response is found behind them") {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n";
  for (const char* trailer : {"", "A: b\r\n", "A:\r\nServer-Timing: db;dur=1\tx\r\n"}) {
    CAPTURE(trailer);
    CHECK(whole(head + trailer + "\r\n") == "200 ok");
    CHECK(bytewise(head + trailer + "\r\n") == "200 ok");
  }
  for (const char* trailer :
       {" folded: x\r\n", ": x\r\n", "no colon\r\n", "A: b\n", "A: \x01\r\n", "A : b\r\n", "A: b\r\r\n"}) {
    CAPTURE(trailer);
    CHECK(whole(head + trailer + "\r\n").substr(0, 6) == "fault:");
  }
  CHECK(whole(head + "A: " + std::string(8000, 'x') + "\r\n\r\n") == "200 ok");
  CHECK(whole(head + "A: " + std::string(8192, 'x') + "\r\n\r\n").find("8192") != std::string::npos);
  CHECK(whole(head + "A: b\r\n", true) != "200 ok");
  ResponseParser parser(ResponseLimits{});
  parser.begin();
  parser.append(head + "A: b\r\n\r\n");
  CHECK(outcome(parser) == "200 ok");
  CHECK_FALSE(parser.trailing());
}
