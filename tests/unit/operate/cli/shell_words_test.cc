#include "operate/cli/shell_words.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::cli;
using Words = std::vector<std::string>;

TEST_CASE("a command given as one text") {
  CHECK(*split_words("npx -y  foo ") == Words{"npx", "-y", "foo"});
  CHECK(*split_words("a \"b c\" 'd \"e' f\\ g \"\"") == Words{"a", "b c", "d \"e", "f g", ""});
  CHECK(*split_words("a\"b\"c $HOME *.c ~ `x` $(y);z") == Words{"abc", "$HOME", "*.c", "~", "`x`", "$(y);z"});
  CHECK(*split_words("\"a\\\"b\\\\c\\d\"") == Words{"a\"b\\c\\d"});
  CHECK(split_words("")->empty());
  CHECK(split_words(" \t")->empty());
  CHECK_FALSE(split_words("a 'b"));
  CHECK_FALSE(split_words("\""));
}

TEST_CASE("a server is named after its command") {
  struct {
    Words words;
    const char* name;
  } cases[] = {
      {{"npx", "-y", "@modelcontextprotocol/server-everything"}, "everything"},
      {{"npx", "-y", "@modelcontextprotocol/server-everything@1.2.3", "stdio"}, "everything"},
      {{"uvx", "mcp-server-time==1.0", "--local-timezone=UTC"}, "time"},
      {{"uv", "tool", "run", "mcp-server-git"}, "git"},
      {{"python3", "-m", "mcp_server_fetch"}, "fetch"},
      {{"node", "/srv/app/dist/index.js"}, "index"},
      {{"/usr/local/bin/github-mcp-server", "stdio"}, "github"},
      {{"docker", "run", "-i", "--rm", "ghcr.io/github/github-mcp-server:latest"}, "github"},
      {{"env", "A=1", "node", "x.mjs"}, "x"},
      {{"./my server"}, "my-server"},
      {{"node"}, "node"},
      {{"é"}, "server"},
      {{""}, "server"},
      {{"server-"}, "server"},
      {{std::string(200, 'a')}, nullptr},
  };
  for (const auto& one : cases) {
    INFO(one.words[0]);
    std::string name = name_from_command(one.words);
    CHECK((!name.empty() && name.size() <= 64));
    if (one.name != nullptr) CHECK(name == one.name);
  }
}

TEST_CASE("a name from a URL") {
  CHECK(name_from_url("https://mcp.example.com/mcp/secret") == "example");
  CHECK(name_from_url("https://github.example.com") == "github");
  CHECK(name_from_url("http://127.0.0.1:3000/mcp") == "server");
  CHECK(name_from_url("http://localhost:3000/mcp") == "server");
  CHECK(name_from_url("http://[::1]:3000/mcp") == "server");
  CHECK(name_from_url("unix:/run/a.sock:/mcp") == "server");
  CHECK(name_from_url("http://app:8000?key=x") == "app");
}
