#include "upstream/http_headers.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::upstream;

namespace {

std::string value(const Headers& headers, std::string_view name) {
  std::string out = "(none)";
  for (const auto& header : headers) {
    if (header.name == name) out = header.value;
  }
  return out;
}

mcp::Message message(std::string text) {
  auto parsed = mcp::Message::parse(std::move(text));
  REQUIRE(parsed);
  return std::move(*parsed);
}

}  // namespace

TEST_CASE("configured headers never touch framing or MCP") {
  config::Server server;
  server.headers = {
      {"Authorization", "Bearer x"},    {"content-length", "1"}, {"Mcp-Method", "x"}, {"Host", "evil"},
      {"Transfer-Encoding", "chunked"}, {"User-Agent", "mine"}};
  Headers headers = base_headers(server, HttpVerb::post);
  CHECK(value(headers, "Authorization") == "Bearer x");
  CHECK(value(headers, "User-Agent") == "mine");
  CHECK(value(headers, "Accept") == "application/json, text/event-stream");
  CHECK(value(headers, "content-length") == "(none)");
  CHECK(value(headers, "Mcp-Method") == "(none)");
  CHECK(value(headers, "Host") == "(none)");
  CHECK(value(headers, "Transfer-Encoding") == "(none)");
  CHECK(value(base_headers(server, HttpVerb::get), "Content-Type") == "(none)");
}

TEST_CASE("of a client's headers only what is named goes on") {
  config::Server server;
  server.forward_headers = {"x-tenant", "Authorization", "Cookie", "Connection", "Mcp-Session-Id"};
  server.headers = {{"authorization", "Bearer ours"}};
  Headers headers = forwarded_headers(server, {{"X-Tenant", "a"},
                                               {"X-Other", "b"},
                                               {"Authorization", "theirs"},
                                               {"Cookie", "c"},
                                               {"Connection", "close"},
                                               {"Mcp-Session-Id", "theirs"}});
  REQUIRE(headers.size() == 2);
  CHECK(value(headers, "X-Tenant") == "a");
  CHECK(value(headers, "Cookie") == "c");
}

TEST_CASE("headers that repeat the body") {
  Headers headers;
  auto call = message(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"größe","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  add_modern_headers(headers, call, {{"mcp-param-Region", "eu"}, {"Mcp-Name", "lie"}, {"X", "y"}});
  CHECK(value(headers, "MCP-Protocol-Version") == "2026-07-28");
  CHECK(value(headers, "Mcp-Method") == "tools/call");
  CHECK(value(headers, "Mcp-Name") == "=?base64?Z3LDtsOfZQ==?=");
  CHECK(value(headers, "mcp-param-Region") == "eu");
  CHECK(value(headers, "X") == "(none)");
  Headers other;
  add_modern_headers(other,
                     message(R"({"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t"}})"),
                     {{"Mcp-Name", "t"}});
  CHECK(value(other, "Mcp-Name") == "t");
}
