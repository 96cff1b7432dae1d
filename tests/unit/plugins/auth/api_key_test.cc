#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "plugins/auth/key_file.h"

using namespace lineward;
using plugins::read_keys;

namespace {

std::string line(const std::string& name, const std::string& key) {
  return name + " " + plugins::hash_text(plugins::hash_key(key));
}

}  // namespace

TEST_CASE("lines of hashed keys are read, comments and blank lines passed over") {
  auto keys =
      read_keys("# people\n\n" + line("alice", "k1") + "  read write # hers\r\n\t" + line("bob", "k2"));
  REQUIRE(keys);
  REQUIRE(keys->size() == 2);
  CHECK((*keys)[0].scopes == std::vector<std::string>{"read", "write"});
  CHECK(plugins::find_key(*keys, "k2")->name == "bob");
  CHECK(plugins::find_key(*keys, "k1")->name == "alice");
  CHECK(plugins::find_key(*keys, "k") == nullptr);
  CHECK(plugins::find_key(*keys, "") == nullptr);
}

TEST_CASE("a broken line is named by its number, and nothing of it is repeated") {
  const std::string secret = "s3cret-that-was-not-hashed";
  for (const std::string& bad :
       std::vector<std::string>{"alice " + secret, secret + "!", "alice sha256:abcd", "alice",
                                line("alice", "x") + "0", line("alice", "x") + " sc\"ope"}) {
    auto keys = read_keys(line("ok", "y") + "\n" + bad);
    REQUIRE_FALSE(keys);
    CHECK(keys.error().text.find("line 2: ") == 0);
    CHECK(keys.error().text.find("s3cret") == std::string::npos);
  }
  CHECK_FALSE(read_keys(line("a", "x") + "\n" + line("b", "x")));
  CHECK_FALSE(read_keys(line("a", "x") + "\n" + line("a", "y") + " more"));
  CHECK(read_keys(line("a", "x") + "\n" + line("a", "y")));
}

TEST_CASE("a world-writable file is refused, a world-readable one gets a warning") {
  std::string path = "/tmp/lineward-keys-" + std::to_string(getpid());
  std::string warning;
  std::ofstream(path) << line("alice", "k1") << "\n";
  chmod(path.c_str(), 0600);
  CHECK(plugins::read_key_file(path, warning));
  CHECK(warning.empty());
  chmod(path.c_str(), 0644);
  CHECK(plugins::read_key_file(path, warning));
  CHECK_FALSE(warning.empty());
  chmod(path.c_str(), 0602);
  CHECK_FALSE(plugins::read_key_file(path, warning));
  chmod(path.c_str(), 0600);
  std::ofstream(path, std::ios::trunc) << "";
  CHECK_FALSE(plugins::read_key_file(path, warning));
  std::ofstream(path, std::ios::trunc) << "# nobody\n";
  CHECK(plugins::read_key_file(path, warning).value().empty());
  std::remove(path.c_str());
  CHECK_FALSE(plugins::read_key_file(path, warning));
  CHECK_FALSE(plugins::read_key_file("/tmp", warning));
}
