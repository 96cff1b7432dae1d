#include "proxy/upstream/http_client/oauth_documents.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "foundation/base/base64url.h"

using namespace lineward;
using namespace lineward::upstream;

namespace {

Challenge challenge(std::vector<std::string> values) {
  http::HeaderList headers;
  for (const auto& value : values)
    headers.add("www-authenticate", value);
  return read_challenge(headers);
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  std::string out(data, static_cast<size_t>(size));
  BIO_free(bio);
  return out;
}

std::string new_key() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  BIO* secret = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(secret, key, nullptr, nullptr, 0, nullptr, nullptr);
  EVP_PKEY_free(key);
  return text_of(secret);
}

config::ClientCredentials with_secret(std::string id, std::string secret) {
  config::ClientCredentials out;
  out.client_id = std::move(id);
  out.client_secret = std::move(secret);
  return out;
}

}  // namespace

TEST_CASE("a Bearer challenge is found among others") {
  auto one = challenge(
      {R"(Basic realm="a, Bearer scope=no", Bearer resource_metadata="https://a/x" , scope="r w",error=invalid_token)"});
  CHECK(one.resource_metadata == "https://a/x");
  CHECK(one.scope == "r w");
  CHECK(one.error == "invalid_token");
  auto two = challenge({"Negotiate abc==", R"(bearer error="insufficient_scope", scope="a\"b")"});
  CHECK(two.error == "insufficient_scope");
  CHECK(two.scope == "a\"b");
  CHECK(challenge({R"(DPoP scope="x")"}).scope.empty());
  CHECK(challenge({}).resource_metadata.empty());
  for (const char* broken :
       {"Bearer", "Bearer scope", "Bearer scope=", R"(Bearer scope=")", R"(Bearer scope="a\)", ",,=,"}) {
    CHECK(challenge({broken}).error.empty());
  }
  CHECK(challenge({"Bearer scope=" + std::string(5000, 'x')}).scope.empty());
}

TEST_CASE("a resource's metadata is looked for at its path, then at the root") {
  CHECK(resource_metadata_urls("https://a:1/public/mcp?x=1") ==
        std::vector<std::string>{"https://a:1/.well-known/oauth-protected-resource/public/mcp",
                                 "https://a:1/.well-known/oauth-protected-resource"});
  CHECK(resource_metadata_urls("https://a").size() == 1);
  CHECK(resource_metadata_urls("https://a/").size() == 1);
}

TEST_CASE("an issuer's metadata is looked for in the order of the specification") {
  CHECK(server_metadata_urls("https://auth.example.com/tenant1") ==
        std::vector<std::string>{"https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
                                 "https://auth.example.com/.well-known/openid-configuration/tenant1",
                                 "https://auth.example.com/tenant1/.well-known/openid-configuration"});
  CHECK(server_metadata_urls("https://auth.example.com") ==
        std::vector<std::string>{"https://auth.example.com/.well-known/oauth-authorization-server",
                                 "https://auth.example.com/.well-known/openid-configuration"});
}

TEST_CASE("metadata about another resource is refused") {
  auto about = [](std::string resource) {
    return read_resource_metadata(
               R"({"resource":")" + resource + R"(","authorization_servers":["https://b"]})",
               "https://a/x/mcp")
        .has_value();
  };
  CHECK(about("https://a/x/mcp"));
  CHECK(about("https://a/x"));
  CHECK(about("https://a/"));
  CHECK(about("https://A"));
  CHECK_FALSE(about("https://a/x/mc"));
  CHECK_FALSE(about("https://a/y"));
  CHECK_FALSE(about("https://a.evil/x/mcp"));
  CHECK_FALSE(about("http://a/x/mcp"));
  CHECK_FALSE(about(""));
  CHECK_FALSE(read_resource_metadata(R"({"resource":"https://a/x/mcp"})", "https://a/x/mcp").has_value());
  CHECK_FALSE(read_resource_metadata("[]", "https://a/x/mcp").has_value());
}

TEST_CASE("metadata of another issuer is refused, to the letter") {
  std::string text = R"({"issuer":"https://b","token_endpoint":"https://b/token"})";
  CHECK(read_server_metadata(text, "https://b").has_value());
  CHECK_FALSE(read_server_metadata(text, "https://b/").has_value());
  CHECK_FALSE(read_server_metadata(R"({"issuer":"https://b"})", "https://b").has_value());
}

TEST_CASE("a token request has the client and the resource, in the form that the server accepts") {
  ServerMetadata server{"https://b", "https://b/token", {}};
  auto basic = token_request(with_secret("i d", "s:&é"), server, "https://a/mcp", "r w", 0);
  REQUIRE(basic);
  CHECK(basic->body == "grant_type=client_credentials&scope=r%20w&resource=https%3A%2F%2Fa%2Fmcp");
  CHECK(basic->authorization == "Basic aSUyMGQ6cyUzQSUyNiVDMyVBOQ==");  // i%20d:s%3A%26%C3%A9
  server.auth_methods = {"client_secret_post"};
  auto post = token_request(with_secret("id", "s&"), server, "https://a/mcp", "", 0);
  REQUIRE(post);
  CHECK(post->authorization.empty());
  CHECK(post->body ==
        "grant_type=client_credentials&resource=https%3A%2F%2Fa%2Fmcp&client_id=id&client_secret=s%26");
}

TEST_CASE("an assertion is signed for the issuer alone") {
  config::ClientCredentials credentials;
  credentials.client_id = "me";
  credentials.private_key = new_key();
  auto request = token_request(credentials, {"https://b", "https://b/token", {"private_key_jwt"}},
                               "https://a/mcp", "", 1000);
  REQUIRE(request);
  size_t at = request->body.find("client_assertion=");
  REQUIRE(at != std::string::npos);
  std::string assertion = request->body.substr(at + 17);
  const size_t first = assertion.find('.'), second = assertion.rfind('.');
  CHECK(from_base64url(assertion.substr(0, first)) == R"({"alg":"ES256","typ":"JWT"})");
  auto claims =
      nlohmann::json::parse(from_base64url(assertion.substr(first + 1, second - first - 1)).value_or(""));
  CHECK(claims["iss"] == "me");
  CHECK(claims["sub"] == "me");
  CHECK(claims["aud"] == "https://b");
  CHECK(claims["iat"] == 1000);
  CHECK(claims["exp"] == 1300);
  CHECK(claims["jti"].get<std::string>().size() == 32);
  credentials.algorithm = config::SigningAlgorithm::rs256;
  CHECK_FALSE(token_request(credentials, {"https://b", "t", {}}, "https://a", "", 0).has_value());
  credentials.private_key = "no key";
  CHECK_FALSE(token_request(credentials, {"https://b", "t", {}}, "https://a", "", 0).has_value());
}

TEST_CASE("a token answer is a visible Bearer token, or says no more than OAuth's word for why not") {
  auto good = read_token_answer(200, R"({"access_token":"abc","token_type":"bearer","expires_in":60})");
  REQUIRE(good);
  CHECK(good->value == "abc");
  CHECK(good->expires_in == 60);
  CHECK_FALSE(read_token_answer(200, R"({"access_token":"abc"})").has_value());
  CHECK_FALSE(read_token_answer(200, R"({"access_token":"a\nb","token_type":"Bearer"})").has_value());
  CHECK_FALSE(read_token_answer(200, R"({"access_token":"","token_type":"Bearer"})").has_value());
  CHECK_FALSE(read_token_answer(200, R"({"access_token":"a","token_type":"DPoP"})").has_value());
  CHECK(read_token_answer(401, R"({"error":"invalid_client"})").error().text ==
        "refused with status 401: invalid_client");
  CHECK(read_token_answer(400, R"({"error":"secret is S3CR3T"})").error().text == "refused with status 400");
  CHECK(read_token_answer(500, "<html>").error().text == "refused with status 500");
}

TEST_CASE("scopes are joined, each once") {
  CHECK(union_of_scopes("a b", "b  c") == "a b c");
  CHECK(union_of_scopes("", "") == "");
}
