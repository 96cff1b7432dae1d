#include "config/secrets.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace lineward;

TEST_CASE("what of a configuration is secret") {
  config::Config config;
  config.servers.emplace_back();
  config::Server& server = config.servers[0];
  server.env = {{"TOKEN", "s3cr3t-value"}, {"NODE_ENV", "production"}, {"X", "pA55wort"}};
  server.headers = {{"Authorization", "Bearer abcdef123"}};
  server.proxy = "http://user:word@proxy:3128";
  server.credentials.client_secret = "of-the-client";
  const auto secrets = config::secrets_of(config);
  auto has = [&](const char* value) {
    return std::find(secrets.begin(), secrets.end(), value) != secrets.end();
  };
  CHECK(has("s3cr3t-value"));
  CHECK(has("pA55wort"));
  CHECK(has("Bearer abcdef123"));
  CHECK(has("abcdef123"));
  CHECK(has("user:word"));
  CHECK(has("of-the-client"));
  CHECK_FALSE(has("production"));
}

TEST_CASE("a secret is known in the forms in which texts have it, and a server's name is none") {
  config::Config config;
  config.servers.emplace_back();
  config::Server& server = config.servers[0];
  server.name = "memory";
  server.env = {{"PASSWORD", "pa\"ss\\wo/rd"},
                {"TRAIL_TOKEN", "trail-of-a-secret\n"},
                {"PEM_KEY", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n-----END KEY-----"},
                {"STORE_KEY", "memory"}};
  server.headers = {{"Cookie", "session=abcDEF123456; lang=en"}};
  server.url = "https://mcp.example.com/mcp?apiKey=tvly-0123456789&mode=fast";
  const auto secrets = config::secrets_of(config);
  auto has = [&](std::string_view value) {
    return std::find(secrets.begin(), secrets.end(), value) != secrets.end();
  };
  CHECK(has("pa\"ss\\wo/rd"));
  CHECK(has("pa\\\"ss\\\\wo/rd"));
  CHECK(has("pa\\\"ss\\\\wo\\/rd"));
  CHECK(has("trail-of-a-secret"));
  CHECK(has("MIIEvQIBADANBgkqhkiG9w0"));
  CHECK_FALSE(has("short"));
  CHECK_FALSE(has("-----BEGIN KEY-----"));
  CHECK_FALSE(has("memory"));
  CHECK(has("abcDEF123456"));
  CHECK_FALSE(has("en"));
  CHECK(has("tvly-0123456789"));
  CHECK_FALSE(has("fast"));
}

TEST_CASE("text beside words about a caller is secret too, but for plain words") {
  config::Config config;
  config.servers.emplace_back();
  config::Server& server = config.servers[0];
  const std::string word = "\x01principal.subject\x02";
  server.identity.headers = {{"Authorization", "Bearer s3cr3t-header:" + word}, {"X-User", "user " + word}};
  server.identity.env = {{"API_KEY", word + " s3cr3t-variable"}};
  server.identity.meta = {{"com.example/key", "s3cr3t-member " + word}};
  const auto secrets = config::secrets_of(config);
  CHECK(secrets == std::vector<std::string>{"s3cr3t-header", "s3cr3t-variable", "s3cr3t-member"});
  CHECK(config::given_to(server) == secrets);
}

TEST_CASE("values without a meaning are not hidden, unless their name promises a secret") {
  using config::is_harmless;
  CHECK(is_harmless("NODE_ENV", "production"));
  CHECK(is_harmless("ROOT", "/srv/data"));
  CHECK(is_harmless("ROOT", "./data"));
  CHECK(is_harmless("NODE_EXTRA_CA_CERTS", "/etc/ssl/certs/ca.pem"));
  CHECK(is_harmless("PORT", "3000"));
  CHECK(is_harmless("CONNECT_TIMEOUT", "300000"));
  CHECK(is_harmless("DAY", "2026-11-25"));
  CHECK(is_harmless("API", "http://localhost:3000/v1"));
  CHECK(is_harmless("LOG_LEVEL", "log-everything"));
  CHECK(is_harmless("AWS_REGION", "eu-central-1"));
  CHECK(is_harmless("GH_HOST", "ghe.example.com"));
  CHECK(is_harmless("TZ", "Europe/Berlin"));
  CHECK(is_harmless("AUTH_PROVIDER", "github"));
  CHECK(is_harmless("SESSION_STORE", "memory"));
  CHECK(is_harmless("Accept-Language", "tools/call"));
  CHECK(is_harmless("MONKEYS", "gorilla"));
  CHECK_FALSE(is_harmless("API", "http://localhost:3000/v1?key=1"));
  CHECK_FALSE(is_harmless("API", "postgres://u:p@db/x"));
  CHECK_FALSE(is_harmless("db_password", "swordfish"));
  CHECK_FALSE(is_harmless("GITHUB_TOKEN", "123456"));
  CHECK_FALSE(is_harmless("apiKey", "letmein"));
  CHECK_FALSE(is_harmless("APIKEY", "letmein"));
  CHECK_FALSE(is_harmless("x-api-key", "letmein"));
  CHECK_FALSE(is_harmless("Authorization", "letmein"));
  CHECK_FALSE(is_harmless("X", "hunter2"));
  CHECK_FALSE(is_harmless("X", "ghp_0123abcd"));
  CHECK_FALSE(is_harmless("X", "correct-horse-battery-staple"));
}

TEST_CASE("a caller that did not configure a server reads no value that it was given") {
  config::Server server;
  server.name = "memory";
  server.env = {{"NODE_ENV", "production"}, {"STORE", "memory"}, {"KEY", "first line\nsecond line\n"}};
  server.headers = {{"Authorization", "Bearer to-ken"}, {"X-Region", "eu-central-1"}};
  server.proxy = "http://user:pass-word@proxy.test:1";
  server.credentials.client_secret = "of-the-client";
  server.url = "https://mcp.example.com/mcp?apiKey=tvly-0123456789";
  const auto given = config::given_to(server);
  for (const char* value :
       {"production", "memory", "first line", "second line", "Bearer to-ken", "to-ken", "eu-central-1",
        "user:pass-word", "pass-word", "of-the-client", "tvly-0123456789"}) {
    INFO(value);
    CHECK(std::find(given.begin(), given.end(), value) != given.end());
  }
}
