#include "config/reader/admin.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

namespace {

const std::string kServer = "mcpServers: { s: { url: 'http://127.0.0.1:1/mcp' } }\n";

LoadResult with(const std::string& admin) {
  return load("admin: " + admin + "\n" + kServer);
}

}  // namespace

TEST_CASE("tokens are lines with a role") {
  auto tokens = parse_admin_tokens("# people\n\nread 0123456789abcdef\n\toperate   ABCDEFGHIJKLMNOP  \r\n");
  REQUIRE(tokens);
  REQUIRE(tokens->size() == 2);
  CHECK((*tokens)[0].token == "0123456789abcdef");
  CHECK(!(*tokens)[0].operate);
  CHECK((*tokens)[1].token == "ABCDEFGHIJKLMNOP");
  CHECK((*tokens)[1].operate);
  for (const char* wrong : {"", "# none\n", "0123456789abcdef", "write 0123456789abcdef", "read",
                            "read short", "read 0123456789 abcdef", "operate \x01xxxxxxxxxxxxxxxxxx"}) {
    INFO(wrong);
    auto refused = parse_admin_tokens(wrong);
    REQUIRE(!refused);
    CHECK(refused.error().text.find("abcdef") == std::string::npos);
  }
  std::string many;
  for (int i = 0; i < 65; ++i)
    many += "read 0123456789abcdef" + std::to_string(i) + "\n";
  CHECK(!parse_admin_tokens(many));
}

TEST_CASE("an address that others reach wants tokens") {
  CHECK(with("{ address: '127.0.0.1:8001' }").ok());
  CHECK(with("{ address: '127.1.2.3:8001' }").ok());
  CHECK(with("{ address: 'localhost:8001' }").ok());
  CHECK(with("{ address: '[::1]:8001' }").ok());
  CHECK(with("{ address: 'unix:/run/a.sock' }").ok());
  CHECK(with("off").ok());
  for (const char* open : {":8001", "0.0.0.0:8001", "10.0.0.1:8001", "[::]:8001", "gateway.example:8001",
                           "127.evil.example.com:8001", "127.0.0.1.example:8001"}) {
    INFO(open);
    LoadResult result = with("{ address: '" + std::string(open) + "' }");
    CHECK(!result.ok());
    CHECK(result.report(false).find("open-admin") != std::string::npos);
  }
  CHECK(!with("{ address: stdio }").ok());
  CHECK(!with("{ address: 8001 }").ok());
}

TEST_CASE("the file of tokens is read with the configuration") {
  std::string path = "/tmp/lineward-tokens-XXXXXX";
  int fd = mkstemp(path.data());
  REQUIRE(fd >= 0);
  close(fd);
  const std::string section = "{ address: ':8001', tokenFile: '" + path + "' }";
  CHECK(with(section).report(false).find("bad-token-file") != std::string::npos);
  std::ofstream(path) << "operate 0123456789abcdef\n";
  CHECK(with(section).diagnostics.empty());
  REQUIRE(chmod(path.c_str(), 0644) == 0);
  CHECK(with(section).ok());
  CHECK(with(section).report(false).find("open-token-file") != std::string::npos);
  unlink(path.c_str());
  CHECK(!with(section).ok());
}
