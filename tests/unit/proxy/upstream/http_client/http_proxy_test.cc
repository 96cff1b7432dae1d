#include "proxy/upstream/http_client/http_proxy.h"

#include <catch2/catch.hpp>
#include <map>

using namespace lineward::upstream;

namespace {

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

// "host:port", "" for none, or "fault".
std::string chosen(const char* url, const char* option, std::map<std::string, std::string> values) {
  auto parsed = parse_http_url(url);
  REQUIRE(parsed);
  auto proxy = choose_proxy(*parsed, option, environment(std::move(values)));
  if (!proxy) return "fault";
  return *proxy ? (*proxy)->host + ":" + std::to_string((*proxy)->port) : "";
}

}  // namespace

TEST_CASE("the URL of a proxy") {
  auto proxy = parse_proxy("http://us%40er:pa%3ass@proxy.example:3128/");
  REQUIRE(proxy);
  CHECK(proxy->host == "proxy.example");
  CHECK(proxy->port == 3128);
  CHECK(proxy->authorization == "Basic dXNAZXI6cGE6c3M=");
  proxy = parse_proxy("10.0.0.1:8080");
  REQUIRE(proxy);
  CHECK(proxy->host == "10.0.0.1");
  CHECK(proxy->authorization.empty());
  REQUIRE(parse_proxy("http://[::1]"));
  CHECK(parse_proxy("http://[::1]")->port == 80);
  for (const char* wrong :
       {"", "http://", "socks5://h:1", "https://h:1", "http://h:1/path", "http://h:x", "http://u:%zz@h:1"}) {
    INFO(wrong);
    auto refused = parse_proxy(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text.find("%zz") == std::string::npos);
  }
}

TEST_CASE("which proxy is used") {
  using Env = std::map<std::string, std::string>;
  Env all{{"HTTPS_PROXY", "http://s:1"}, {"http_proxy", "http://p:2"}, {"HTTP_PROXY", "http://cgi:3"}};
  CHECK(chosen("https://example.com/mcp", "", all) == "s:1");
  CHECK(chosen("http://example.com/mcp", "", all) == "p:2");
  CHECK(chosen("http://example.com/mcp", "", {{"HTTP_PROXY", "http://cgi:3"}}) == "");
  CHECK(chosen("https://example.com/mcp", "", {{"https_proxy", "l:9"}, {"HTTPS_PROXY", "u:9"}}) == "l:9");
  CHECK(chosen("https://example.com/mcp", "", {{"https_proxy", ""}, {"HTTPS_PROXY", "u:9"}}) == "u:9");
  CHECK(chosen("https://example.com/mcp", "", {}) == "");
  CHECK(chosen("https://example.com/mcp", "none", all) == "");
  CHECK(chosen("https://example.com/mcp", "http://mine:5", all) == "mine:5");
  CHECK(chosen("https://example.com/mcp", "http://mine:5", {{"NO_PROXY", "*"}}) == "mine:5");
  CHECK(chosen("http://127.0.0.1:1/mcp", "", all) == "");
  CHECK(chosen("http://localhost:1/mcp", "", all) == "");
  CHECK(chosen("http://127.0.0.1:1/mcp", "http://mine:5", all) == "mine:5");
  CHECK(chosen("unix:/run/s", "http://mine:5", all) == "");
  CHECK(chosen("https://example.com/mcp", "", {{"HTTPS_PROXY", "socks5://h"}}) == "fault");
  CHECK(chosen("https://example.com/mcp", "", {{"HTTPS_PROXY", "http://h:1"}, {"no_proxy", "example.com"}}) ==
        "");
}

TEST_CASE("NO_PROXY") {
  struct {
    const char* rules;
    const char* host;
    int port;
    bool direct;
  } cases[] = {
      {"", "example.com", 80, false},
      {"*", "example.com", 80, true},
      {"example.com", "example.com", 80, true},
      {"example.com", "EXAMPLE.com", 80, true},
      {"example.com", "example.com.", 80, true},
      {"example.com", "api.example.com", 80, true},
      {"example.com", "badexample.com", 80, false},
      {".example.com", "api.example.com", 80, true},
      {".example.com", "example.com", 80, false},
      {"*.example.com", "api.example.com", 80, true},
      {"a.com, example.com", "example.com", 80, true},
      {"a.com example.com", "example.com", 80, true},
      {"example.com:443", "example.com", 443, true},
      {"example.com:443", "example.com", 80, false},
      {"10.1.2.3", "10.1.2.3", 80, true},
      {"10.1.2.3", "10.1.2.4", 80, false},
      {"10.1.2.3:80", "10.1.2.3", 80, true},
      {"10.1.2.3:81", "10.1.2.3", 80, false},
      {"10.0.0.0/8", "10.200.1.1", 80, true},
      {"10.0.0.0/8", "11.0.0.1", 80, false},
      {"10.0.0.0/33", "10.0.0.1", 80, false},
      {"10.0.0.0/8", "ten.example.com", 80, false},
      {"fd00::/8", "fd12::1", 80, true},
      {"fd00::/8", "fe80::1", 80, false},
      {"2001:db8::1", "2001:db8:0::1", 80, true},
      {"[2001:db8::1]:80", "2001:db8::1", 80, true},
      {"[2001:db8::1]:81", "2001:db8::1", 80, false},
      {"", "127.8.8.8", 80, true},
      {"", "::1", 80, true},
      {"", "localhost", 80, true},
      {",,,", "example.com", 80, false},
  };
  for (const auto& one : cases) {
    INFO(one.rules << " | " << one.host << ":" << one.port);
    CHECK(bypasses_proxy(one.rules, one.host, static_cast<uint16_t>(one.port)) == one.direct);
  }
}
