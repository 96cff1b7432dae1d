#include <algorithm>
#include <catch2/catch.hpp>

#include "config/secrets.h"
#include "unit/config/reader/loading.h"

using namespace lineward;

TEST_CASE("what a variable gave is secret wherever it stands") {
  const auto loaded = config::testing::load(
      R"(
mcpServers:
  a: { command: "server", args: ["--token=${env:TOKEN_OF_A}", "--home", "${HOME}", "${PORT:-8080}"] }
  b: { url: "https://mcp.example.com/${B_PATH}/mcp" }
plugins:
  - hook: { command: "/bin/cat", env: { X: "${FOR_HOOK}" } }
)",
      {{"TOKEN_OF_A", "hunter2-0123456789"},
       {"HOME", "/home/me"},
       {"PORT", "8081"},
       {"B_PATH", "kJ8aZ02mQx"},
       {"FOR_HOOK", "hook-s3cr3t-9"}});
  const auto secrets = config::secrets_of(loaded.config);
  auto has = [&](std::string_view value) {
    return std::find(secrets.begin(), secrets.end(), value) != secrets.end();
  };
  CHECK(has("hunter2-0123456789"));
  CHECK(has("kJ8aZ02mQx"));
  CHECK(has("hook-s3cr3t-9"));
  CHECK_FALSE(has("/home/me"));
  CHECK_FALSE(has("8081"));
}
