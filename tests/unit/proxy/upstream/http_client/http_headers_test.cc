#include "proxy/upstream/http_client/http_headers.h"

#include <fmt/format.h>

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

TEST_CASE("a configured header wins over a client's, and neither touches framing or MCP") {
  config::Server server;
  server.headers = {{"authorization", "Bearer ours"}, {"X-Fixed", "ours"}};
  Headers headers = forwarded_headers(server, {{"X-Tenant", "a"},
                                               {"X-Tenant", "b"},
                                               {"Authorization", "theirs"},
                                               {"X_Fixed", "theirs"},
                                               {"Connection", "close"},
                                               {"Mcp-Session-Id", "theirs"}});
  REQUIRE(headers.size() == 2);
  CHECK(headers[0].value == "a");
  Headers all = base_headers(server, HttpVerb::post);
  size_t before = all.size();
  add_all(all, headers);
  CHECK(all.size() == before + 2);
  add_all(all, {{"x-tenant", "c"}});
  CHECK(all.size() == before + 1);
  CHECK(value(all, "x-tenant") == "c");
}

TEST_CASE("what Lineward asks in a client's place has that client's headers, and nothing of one call of it") {
  CHECK(headers_of_client({{"Traceparent", "00-1"},
                           {"tracestate", "a=1"},
                           {"Authorization", "Bearer a"},
                           {"mcp-param-region", "us"},
                           {"MCP-Name", "t"},
                           {"X-Mcp", "1"}}) == ClientHeaders{{"Authorization", "Bearer a"}, {"X-Mcp", "1"}});
}

TEST_CASE("a trace belongs to one call, all else to its client") {
  Headers forwarded{{"traceparent", "00-1"}, {"Authorization", "Bearer a"}};
  REQUIRE(lasting_headers(forwarded).size() == 1);
  CHECK(identity_of({{"traceparent", "00-1"}}).empty());
  CHECK(identity_of(forwarded) == identity_of({{"authorization", "Bearer a"}}));
  CHECK(identity_of(forwarded) != identity_of({{"Authorization", "Bearer b"}}));
  CHECK(identity_of(forwarded).find("Bearer") == std::string::npos);
}

TEST_CASE("of a refusal well-formed challenges go down") {
  std::string huge(2049, 'x');
  http::HeaderList response;
  response.add("WWW-Authenticate", "Bearer realm=\"x\"");
  response.add("www-authenticate", huge);
  response.add("WWW-Authenticate", "Bearer \xc3\xa4");
  response.add("Set-Cookie", "a=b");
  response.add("Retry-After", "120");
  core::HeaderFields fields = challenge_headers(response);
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].second == "Bearer realm=\"x\"");
  CHECK(fields[1] == std::pair<std::string, std::string>{"Retry-After", "120"});
  for (const char* bad : {"1234567890", "-1", "soon", "Fri; x", ""}) {
    http::HeaderList odd;
    odd.add("Retry-After", bad);
    CHECK(challenge_headers(odd).empty());
  }
  http::HeaderList twice;
  twice.add("Retry-After", "1");
  twice.add("Retry-After", "2");
  CHECK(challenge_headers(twice).empty());
  http::HeaderList date;
  date.add("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT");
  CHECK(challenge_headers(date).size() == 1);
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

TEST_CASE("lines that repeat a message say what its headers do, whatever was called before") {
  const auto call = [](std::string_view method, std::string_view params) {
    return message(
        fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{}}}}})", method, params));
  };
  constexpr std::string_view kMeta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"})";
  const std::string longest(5000, 'n');
  std::vector<mcp::Message> calls;
  for (const std::string& name :
       {std::string("add"), std::string("größe"), std::string("add\\r\\nX: y"), longest})
    calls.push_back(call("tools/call", fmt::format(R"("name":"{}",{})", name, kMeta)));
  calls.push_back(call("prompts/get", fmt::format(R"("name":"add",{})", kMeta)));
  calls.push_back(
      call("tools/call", R"("name":"add","_meta":{"io.modelcontextprotocol/protocolVersion":"2"})"));
  calls.push_back(call("tools/call", R"("name":5)"));
  calls.push_back(call("tools/list", kMeta));
  calls.push_back(call("tasks/get", R"("taskId":"t")"));
  ModernLines lines;
  for (const auto& client :
       {core::HeaderFields(), core::HeaderFields{{"Mcp-Param-Region", "eu"}, {"Mcp-Name", "t"}}}) {
    for (size_t i = 0; i < calls.size() * calls.size() * 2; ++i) {
      // Every one after every other, and after itself.
      const mcp::Message& one = calls[i % 2 == 0 ? i / 2 % calls.size() : i / 2 / calls.size()];
      Headers headers;
      add_modern_headers(headers, one, client);
      std::string expected = "before\r\n";
      for (const auto& header : headers)
        http::append_field(expected, header.name, header.value);
      std::string said = "before\r\n";
      lines.append(said, one, client);
      CHECK(said == expected);
    }
  }
}
