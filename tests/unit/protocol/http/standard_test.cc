// Forms that the standard permits and strict parsers tend to refuse: chunk extensions, tabs around values,
// targets in absolute form.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "unit/protocol/http/feed.h"

using namespace lineward::http;

namespace {

const std::string kHead = "POST /mcp HTTP/1.1\r\nHost: a\r\n";

std::string with_body(const std::string& body) {
  return kHead + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string chunked(const std::string& framed) {
  return kHead + "Transfer-Encoding: chunked\r\n\r\n" + framed;
}

}  // namespace

// RFC 9112 7.1.1: a recipient ignores those that it does not know.
TEST_CASE("chunk extensions are read by their grammar, bounded, and ignored") {
  auto body = [](const std::string& framed) {
    Outcome got = feed(chunked(framed));
    return got.first_complete() ? got.requests[0].body : "refused: " + got.text;
  };
  const std::string last = "\r\nhello\r\n0\r\n\r\n";
  for (const char* extension : {";a=b", ";a", ";a;b=c;d", ";chunk-signature=0123456789abcdef", ";a=\"b\"",
                                ";a=\"\"", ";a=\"b;c=d\"", ";a=\"x\\\"y\"", ";a=\"\\\\\";b", " ;a",
                                "\t; a = b ; c =\t\"d\"", ";a=\"\tb\"", ";a=\"\xc3\xa4\"", ";a=\"\\\xff\""}) {
    INFO(extension);
    CHECK(body("5" + (extension + last)) == "hello");
  }
  CHECK(body("5\r\nhello\r\n0;a=\"b\"\r\n\r\n") == "hello");

  const char* refused[] = {";",           "; ",        ";;a",         ";a;",     ";a=",       ";a=;b",
                           ";=b",         ";a=b=c",    ";a b",        ";a=b c",  ";a=\"b",    ";a=\"b\"c",
                           ";a=\"\\\"",   ";a=b\"c\"", " ",           "\t",      " a",        ";a ",
                           ";a=b ",       ";a=\"b\" ", ";a\x01",      ";a=\x7f", ";a=\"\x01", ";a=\"\x7f",
                           ";a=\"\\\x01", ";\xc3\xa4", ";a=\xc3\xa4", ",a=b"};
  for (const char* extension : refused) {
    INFO(extension);
    CHECK(verdict(chunked("5" + (extension + last))) == 400);
  }
  CHECK(verdict(chunked("5;a=" + std::string(1, '\0') + last)) == 400);

  // A line end that only one of two readers sees is how requests are hidden.
  for (const char* framed :
       {"5;\nhello\r\n0\r\n\r\n", "5;a\nhello\r\n0\r\n\r\n", "5;a\rX\r\nhello\r\n0\r\n\r\n",
        "5;a=\"\r\nhello\r\n0\r\n\r\n", "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n",
        "5;a=\"\r\"\r\nhello\r\n0\r\n\r\n", "5;a=\"\\\r\nhello\r\n0\r\n\r\n",
        "5;a=\"\\\n\"\r\nhello\r\n0\r\n\r\n", "5;a=\nhello\r\n0\r\n\r\n", "5 \nhello\r\n0\r\n\r\n",
        "5;a\r\rhello\r\n0\r\n\r\n", "5;a=b\r\r\nhello\r\n0\r\n\r\n"}) {
    INFO(framed);
    CHECK(verdict(chunked(framed)) == 400);
  }
  Outcome got = feed(chunked("5;a=b\r\nhello\r\n0;c\r\n\r\n") + with_body("next"));
  REQUIRE(got.requests.size() == 2);
  CHECK(got.requests[0].body == "hello");
  CHECK(got.requests[1].body == "next");

  CHECK(body("5;" + std::string(1023, 'a') + last) == "hello");
  CHECK(body("5;" + std::string(1024, 'a') + last) ==
        "refused: The extensions of a chunk must not have more than 1024 bytes.");
  CHECK(verdict(chunked("5" + std::string(1025, ' '))) == 400);
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += "1;" + std::string(1000, 'a') + "\r\nx\r\n";
  CHECK(feed_parts({chunked(many + "0\r\n\r\n")}, {}).status == 400);
}

// RFC 9110 5.6.3.
TEST_CASE("tabs around header values are white space") {
  auto got = feed(
      "POST /mcp HTTP/1.1\r\nHost:\ta\t\r\nContent-Length:\t5\t\r\nExpect:\t100-continue\t\r\n"
      "Connection:\tclose\t\r\nX:\t \tb\tc\t \r\n\r\nhello");
  INFO(got.text);
  REQUIRE(got.first_complete());
  CHECK(got.requests[0].body == "hello");
  CHECK(got.requests[0].expect_continue);
  CHECK_FALSE(got.requests[0].keep_alive);
  CHECK(got.requests[0].headers.front().second == "a");
  CHECK(got.requests[0].headers.back().second == "b\tc");
  for (const char* value : {"\tchunked", "chunked\t", "\t chunked \t", "  chunked  "}) {
    INFO(value);
    CHECK(verdict("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:" + std::string(value) +
                  "\r\n\r\n1\r\nx\r\n0\r\n\r\n") == 0);
  }
  for (const char* value : {"\t3", "3\t", " \t 3 \t ", "3  "}) {
    INFO(value);
    CHECK(verdict("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:" + std::string(value) + "\r\n\r\nabc") == 0);
  }
}

// RFC 9112 3.2.2: what the target says of the host goes before Host.
TEST_CASE("a target in absolute form is the path and the host that it names") {
  auto read = [](const std::string& target, const std::string& host = "Host: b\r\n") {
    Outcome got = feed("GET " + target + " HTTP/1.1\r\n" + host + "\r\n");
    if (!got.first_complete()) return std::to_string(got.status);
    const SeenRequest& one = got.requests[0];
    std::string hosts;
    for (const auto& [name, value] : one.headers)
      if (name == "Host") hosts += value + " ";
    return hosts + one.path + " " + one.target;
  };
  CHECK(read("http://a/mcp") == "a /mcp /mcp");
  CHECK(read("http://a:8080/mcp?x=http://y/") == "a:8080 /mcp /mcp?x=http://y/");
  CHECK(read("HTTP://[::1]:80/") == "[::1]:80 / /");
  CHECK(read("https://a/mcp") == "a /mcp /mcp");
  CHECK(read("http://a") == "a / /");
  CHECK(read("http://a//b") == "a //b //b");
  for (const char* target :
       {"http:/a/mcp",   "http:///mcp", "http://",      "http://?x",    "http://a?x=1", "http://u@a/",
        "http://u:p@a/", "http://a:/",  "http://a:0/",  "http://a:x/",  "http://a,b/",  "http://a%2e/",
        "http://a\\b/",  "ftp://a/",    "ws://a/",      "httpx://a/",   "//a/mcp@",     "a/mcp",
        "http://a/#f",   "http://a#f",  "http://[::1/", "http://a/\x7f"}) {
    INFO(target);
    const std::string got = read(target);
    CHECK((got == "400" || (std::string(target).rfind("//", 0) == 0 && got == "b //a/mcp@ //a/mcp@")));
  }
  // Host must be there all the same, once, and be one.
  CHECK(read("http://a/", "") == "400");
  CHECK(read("http://a/", "Host: a/b\r\n") == "400");
  CHECK(read("http://a/", "Host: a\r\nHost: a\r\n") == "400");
  Outcome old = feed("GET http://a/mcp HTTP/1.0\r\n\r\n");
  REQUIRE(old.first_complete());
  CHECK(old.requests[0].path == "/mcp");
  REQUIRE(old.requests[0].headers.size() == 1);
  CHECK(old.requests[0].headers[0] == std::pair<std::string, std::string>("Host", "a"));
}
