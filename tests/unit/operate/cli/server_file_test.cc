#include "operate/cli/server_file.h"

#include <catch2/catch.hpp>
#include <string>

#include "config/reader/include.h"

using namespace lineward;
using namespace lineward::cli;

namespace {

const std::string kPath = "/etc/lineward/servers.d/lineward-servers.yaml";

ServerFile read_file(const std::string& text) {
  auto file = ServerFile::read(text, kPath);
  REQUIRE(file);
  return *file;
}

}  // namespace

TEST_CASE("the own file is written, read and written again as it was") {
  ServerFile file = read_file("");
  NewServer git;
  git.name = "git";
  git.command = "uvx";
  git.args = {"mcp-server-git", "--x", "a \"b\"\n: #"};
  git.env = {{"TOKEN", "pa:ss # \\ é"}};
  git.cwd = "/srv";
  file.add(git);
  NewServer app;
  app.name = "app";
  app.url = "https://mcp.example.com/mcp";
  app.headers = {{"Authorization", "Bearer ${env:TOKEN}"}};
  file.add(app);
  file.disable("other");
  const std::string text = file.text();
  CHECK(text == std::string(config::kOwnHeading) +
                    "\ndisabled:\n"
                    "  - \"other\"\n"
                    "mcpServers:\n"
                    "  \"git\":\n"
                    "    \"command\": \"uvx\"\n"
                    "    \"args\": [\"mcp-server-git\", \"--x\", \"a \\\"b\\\"\\n: #\"]\n"
                    "    \"cwd\": \"/srv\"\n"
                    "    \"env\": {\"TOKEN\": \"pa:ss # \\\\ é\"}\n"
                    "  \"app\":\n"
                    "    \"url\": \"https://mcp.example.com/mcp\"\n"
                    "    \"headers\": {\"Authorization\": \"Bearer ${env:TOKEN}\"}\n");
  CHECK(read_file(text).text() == text);
}

TEST_CASE("what an operator wrote into the own file by hand stays, but for comments") {
  const std::string text = std::string(config::kOwnHeading) +
                           "\nmcpServers:\n  a:\n    command: cat # why\n    timeouts: {request: 5s}\n"
                           "    instances: 3\n    required: true\n    cwd: \"3\"\n";
  const std::string again = read_file(text).text();
  CHECK(again.find("\"timeouts\": {\"request\": 5s}") != std::string::npos);
  CHECK(again.find("\"instances\": 3\n") != std::string::npos);
  CHECK(again.find("\"required\": true\n") != std::string::npos);
  CHECK(again.find("\"cwd\": \"3\"\n") != std::string::npos);
}

TEST_CASE("servers come and go, and are disabled and enabled") {
  ServerFile file = read_file("");
  NewServer one;
  one.name = "one";
  one.command = "cat";
  file.add(one);
  CHECK(file.has("one"));
  file.disable("one");
  file.disable("one");
  CHECK(file.is_disabled("one"));
  CHECK(file.enable("one"));
  CHECK_FALSE(file.enable("one"));
  file.disable("one");
  CHECK(file.remove("one"));
  CHECK_FALSE(file.remove("one"));
  CHECK_FALSE(file.is_disabled("one"));
  CHECK(file.text() == std::string(config::kOwnHeading) + "\nmcpServers: {}\n");
}

TEST_CASE("a file that Lineward did not write is not changed, and a secret in it not told") {
  auto mine = ServerFile::read("mcpServers: { a: { env: { A: hunter2 } } }\n", kPath);
  REQUIRE_FALSE(mine);
  CHECK(mine.error().text.find("was not written by lineward server") != std::string::npos);
  CHECK(mine.error().text.find("hunter2") == std::string::npos);
  auto broken = ServerFile::read(std::string(config::kOwnHeading) + "\nmcpServers: { a: hunter2\n", kPath);
  REQUIRE_FALSE(broken);
  CHECK(broken.error().text.find("hunter2") == std::string::npos);
}
