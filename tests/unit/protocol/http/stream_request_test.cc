#include "protocol/http/stream_request.h"

#include <catch2/catch.hpp>
#include <string>

namespace lineward::http {
namespace {

TEST_CASE("stream request: a head in parts, without what belongs to a connection") {
  std::string head =
      "POST /mcp?a=b HTTP/1.1\r\nHost: a.test:1\r\nUser-Agent: x/1 (y: z)\r\nConnection: keep-alive\r\n"
      "Keep-Alive: 1\r\nUpgrade: h2c\r\nTE: gzip\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n";
  const auto request = stream_request(head);
  REQUIRE(request);
  CHECK(request->method == "POST");
  CHECK(request->path == "/mcp?a=b");
  CHECK(request->authority == "a.test:1");
  REQUIRE(request->fields.size() == 2);
  CHECK(request->fields[0].first == "user-agent");
  CHECK(request->fields[0].second == "x/1 (y: z)");
  CHECK(request->fields[1].first == "content-length");
}

TEST_CASE("stream request: trailers may be asked for") {
  std::string head = "GET / HTTP/1.1\r\nTE: trailers\r\nX: \r\n\r\n";
  const auto request = stream_request(head);
  REQUIRE(request);
  CHECK(request->authority.empty());
  REQUIRE(request->fields.size() == 2);
  CHECK(request->fields[0].first == "te");
  CHECK(request->fields[1].second.empty());
}

TEST_CASE("stream request: anything else is no head") {
  for (std::string head : {"", "GET /", "GET / HTTP/1.1\r\n", "GET / HTTP/1.0\r\n\r\n", "GET\r\n\r\n",
                           "GET / HTTP/1.1\r\nname\r\n\r\n", "GET / HTTP/1.1\r\na\r\nb: c\r\n\r\n"})
    CHECK_FALSE(stream_request(head));
}

}  // namespace
}  // namespace lineward::http
