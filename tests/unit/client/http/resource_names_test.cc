#include "client/http/resource_names.h"

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

TEST_CASE("paths of the metadata") {
  CHECK(kNames.metadata_path("/mcp") == "/.well-known/oauth-protected-resource/api/mcp");
  CHECK(kNames.metadata_path("") == "/.well-known/oauth-protected-resource");
  CHECK(ResourceNames("https://a", "/").metadata_path("/mcp") == "/.well-known/oauth-protected-resource");
  CHECK(ResourceNames("https://a:443", "/m?x=1").metadata_path("/mcp") ==
        "/.well-known/oauth-protected-resource/m");
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
