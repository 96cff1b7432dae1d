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

TEST_CASE("values that say nothing are not hidden, but for those whose name promises a secret") {
  using config::is_harmless;
  CHECK(is_harmless("NODE_ENV", "production"));
  CHECK(is_harmless("ROOT", "/srv/data"));
  CHECK(is_harmless("ROOT", "./data"));
  CHECK(is_harmless("PORT", "3000"));
  CHECK(is_harmless("DAY", "2026-11-25"));
  CHECK(is_harmless("API", "http://localhost:3000/v1"));
  CHECK(is_harmless("LOG_LEVEL", "log-everything"));
  CHECK_FALSE(is_harmless("API", "http://localhost:3000/v1?key=1"));
  CHECK_FALSE(is_harmless("API", "postgres://u:p@db/x"));
  CHECK_FALSE(is_harmless("db_password", "swordfish"));
  CHECK_FALSE(is_harmless("GITHUB_TOKEN", "123456"));
  CHECK_FALSE(is_harmless("X", "hunter2"));
  CHECK_FALSE(is_harmless("X", "Production"));
  CHECK_FALSE(is_harmless("X", "correct-horse-battery"));
}
