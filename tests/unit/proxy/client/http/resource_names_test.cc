#include "proxy/client/http/resource_names.h"

#include <catch2/catch.hpp>

using namespace lineward::client;

namespace {

const ResourceNames kNames("http://127.0.0.1:3000", "/api/mcp");
const ClientSide kClient{"https://mcp.example.com", "/mcp"};

std::string challenge(const std::string& url) {
  std::string value = kNames.challenge(
      "Bearer error=\"invalid_token\", resource_metadata=\"" + url + "\", scope=\"a\"", kClient);
  size_t begin = value.find("resource_metadata=\"") + 19;
  CHECK(value.find(", scope=\"a\"") != std::string::npos);
  return value.substr(begin, value.find('"', begin) - begin);
}

std::string document(const std::string& resource) {
  auto out = kNames.document(
      R"({"a":1.0, "resource" : ")" + resource + R"(","authorization_servers":["https://as"]})", kClient);
  REQUIRE(out);
  CHECK(out->rfind(R"({"a":1.0, "resource" : ")", 0) == 0);
  CHECK(out->find(R"(,"authorization_servers":["https://as"]})") != std::string::npos);
  return out->substr(24, out->find('"', 24) - 24);
}

}  // namespace

TEST_CASE("a challenge that names the server's own address names ours") {
  CHECK(challenge("http://127.0.0.1:3000/.well-known/oauth-protected-resource/api/mcp") ==
        "https://mcp.example.com/.well-known/oauth-protected-resource/mcp");
  CHECK(challenge("HTTP://127.0.0.1:3000/.well-known/oauth-protected-resource") ==
        "https://mcp.example.com/.well-known/oauth-protected-resource");
}

TEST_CASE("a challenge that names another place passes as it is") {
  for (const char* url :
       {"https://mcp.example.com/.well-known/oauth-protected-resource/mcp",
        "http://127.0.0.1:3001/.well-known/oauth-protected-resource", "http://127.0.0.1:3000/elsewhere",
        "http://127.0.0.1:3000/.well-known/oauth-protected-resource/other", "nonsense"}) {
    CHECK(challenge(url) == url);
  }
  CHECK(kNames.challenge("Basic realm=\"x\"", kClient) == "Basic realm=\"x\"");
  CHECK(kNames.challenge("Bearer resource_metadata=\"http://127.0.0.1:3000", kClient) ==
        "Bearer resource_metadata=\"http://127.0.0.1:3000");
}

TEST_CASE("the document names the resource as its client does (RFC 9728, 3.3)") {
  CHECK(document("http://127.0.0.1:3000/api/mcp") == "https://mcp.example.com/mcp");
  CHECK(document("http://127.0.0.1:3000") == "https://mcp.example.com");
  CHECK(document("http://127.0.0.1:3000/") == "https://mcp.example.com/");
  CHECK(document("https://public.example.com/mcp") == "https://public.example.com/mcp");
  CHECK_FALSE(kNames.document("{}", kClient));
  CHECK_FALSE(kNames.document("[]", kClient));
  CHECK_FALSE(kNames.document(R"({"resource":1})", kClient));
  CHECK_FALSE(kNames.document(R"({"resource":"x")", kClient));
}

namespace {

// The server's path for a document that is requested here; "-": it is no such path.
std::string asked_of(const ResourceNames& names, std::string_view path) {
  const auto asked = well_known(path);
  return asked ? names.metadata_path(*asked) : "-";
}

}  // namespace

TEST_CASE("paths of the metadata") {
  CHECK(asked_of(kNames, "/.well-known/oauth-protected-resource/mcp") ==
        "/.well-known/oauth-protected-resource/api/mcp");
  CHECK(asked_of(kNames, "/.well-known/oauth-protected-resource") == "/.well-known/oauth-protected-resource");
  CHECK(asked_of(ResourceNames("https://a", "/"), "/.well-known/oauth-protected-resource/mcp") ==
        "/.well-known/oauth-protected-resource");
  CHECK(asked_of(ResourceNames("https://a:443", "/m?x=1"), "/.well-known/oauth-protected-resource/mcp") ==
        "/.well-known/oauth-protected-resource/m");
  // Paths of servers that are their own authorization server (MCP 2025-03-26).
  CHECK(asked_of(kNames, "/.well-known/oauth-authorization-server") ==
        "/.well-known/oauth-authorization-server");
  CHECK(asked_of(kNames, "/.well-known/oauth-authorization-server/mcp") ==
        "/.well-known/oauth-authorization-server/api/mcp");
  CHECK(asked_of(kNames, "/.well-known/openid-configuration") == "/.well-known/openid-configuration");
  CHECK(asked_of(kNames, "/.well-known/openid-configuration/mcp") ==
        "/.well-known/openid-configuration/api/mcp");
  CHECK(asked_of(kNames, "/mcp/.well-known/openid-configuration") ==
        "/api/mcp/.well-known/openid-configuration");
  CHECK(well_known("/mcp/.well-known/openid-configuration")->endpoint == "/mcp");
  for (const char* path :
       {"/", "/mcp", "/.well-known", "/.well-known/other", "/.well-known/oauth-protected-resourcex",
        "/mcp/.well-known/oauth-authorization-server", "/.well-known/openid-configurations"}) {
    INFO(path);
    CHECK(asked_of(kNames, path) == "-");
  }
}

TEST_CASE("the side of a client") {
  lineward::http::RequestHead head;
  head.path = "/mcp";
  head.headers.add("Host", "127.0.0.1:8000");
  CHECK(client_side(head).origin == "http://127.0.0.1:8000");
  head.headers.add("X-Forwarded-Proto", "https");
  CHECK(client_side(head).origin == "https://127.0.0.1:8000");
  lineward::http::RequestHead odd;
  odd.headers.add("Host", "a\"b");
  CHECK(client_side(odd).origin.empty());
}
