#include "config/environment.h"

#include <catch2/catch.hpp>

#include "config/reader/changes.h"
#include "config/reader/load.h"

namespace lineward::config {
namespace {

LoadResult load(std::string_view text) {
  LoadOptions options;
  options.env = [](std::string_view name) {
    return name == "TOKEN" || name == "HOME" ? std::optional<std::string>("x") : std::nullopt;
  };
  return load_text(std::string(text), "test.yaml", options);
}

}  // namespace

TEST_CASE("a server from a file inherits what programs need, and what is named") {
  auto result =
      load("mcpServers:\n  s: { command: x, inheritEnv: [OWN, GITHUB_HOST] }\n  t: { command: x }\n");
  REQUIRE(result.ok());
  const Server& named = result.config.servers[0];
  for (const char* name : {"PATH", "HOME", "LC_TIME", "https_proxy", "NO_PROXY", "OWN", "GITHUB_HOST"})
    CHECK(inherits(named, name));
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "LINEWARD_CONFIG", "LD_PRELOAD", "NODE_OPTIONS"})
    CHECK_FALSE(inherits(named, name));
  CHECK_FALSE(inherits(result.config.servers[1], "OWN"));
}

TEST_CASE("true is everything, false next to nothing") {
  auto result =
      load("mcpServers:\n  s: { command: x, inheritEnv: true }\n  t: { command: x, inheritEnv: false }\n");
  REQUIRE(result.ok());
  CHECK(inherits(result.config.servers[0], "ANY"));
  CHECK_FALSE(inherits(result.config.servers[0], "LINEWARD_ANY"));
  CHECK(inherits(result.config.servers[1], "PATH"));
  CHECK_FALSE(inherits(result.config.servers[1], "LC_ALL"));
}

TEST_CASE("what is neither a word nor a list of names is refused") {
  CHECK_FALSE(load("mcpServers:\n  s: { command: x, inheritEnv: some }\n").ok());
  CHECK_FALSE(load("mcpServers:\n  s: { command: x, inheritEnv: ['A=1'] }\n").ok());
  CHECK_FALSE(load("mcpServers:\n  s: { command: x, inheritEnv: [LINEWARD_CONFIG] }\n").ok());
  CHECK_FALSE(load("mcpServers:\n  s: { command: x, inheritEnv: { A: 1 } }\n").ok());
}

TEST_CASE("a variable that one server was given is kept from the others") {
  auto result = load(
      "mcpServers:\n"
      "  holder: { command: x, env: { API: '${env:TOKEN}' }, inheritEnv: true }\n"
      "  open: { command: x, inheritEnv: true }\n"
      "  asks: { command: x, inheritEnv: [TOKEN] }\n"
      "  home: { command: '${HOME}/bin/x' }\n");
  REQUIRE(result.ok());
  CHECK(inherits(result.config.servers[0], "TOKEN"));
  CHECK_FALSE(inherits(result.config.servers[1], "TOKEN"));
  CHECK_FALSE(inherits(result.config.servers[2], "TOKEN"));
  CHECK(inherits(result.config.servers[1], "HOME"));
  REQUIRE(result.diagnostics.size() == 1);
  CHECK(result.diagnostics[0].code == "withheld-variable");
  CHECK(result.diagnostics[0].line == 4);
}

TEST_CASE("a server of the command line has the shell's environment, but for what the file gives to others") {
  LoadOptions options;
  options.env = [](std::string_view name) {
    return name == "TOKEN" ? std::optional<std::string>("x") : std::nullopt;
  };
  options.servers.emplace_back();
  options.servers.back().name = "mine";
  options.servers.back().command = "x";
  options.servers.back().inherit_env.mode = InheritedEnv::Mode::all;
  auto result = load_text("mcpServers:\n  s: { url: 'http://h/', headers: { A: '${env:TOKEN}' } }\n",
                          "f.yaml", options);
  REQUIRE(result.ok());
  CHECK(inherits(result.config.servers[1], "ANY"));
  CHECK_FALSE(inherits(result.config.servers[1], "TOKEN"));
}

TEST_CASE("a reload that changes what is withheld makes a new server") {
  auto now = load("mcpServers:\n  s: { command: x, inheritEnv: true }\n  t: { command: y }\n");
  auto next = load(
      "mcpServers:\n  s: { command: x, inheritEnv: true }\n  t: { command: y, env: { A: '${TOKEN}' } }\n");
  REQUIRE((now.ok() && next.ok()));
  bool replaced = false;
  for (const ServerChange& change : compare(now.config, next.config).servers)
    replaced = replaced || (change.name == "s" && change.kind == Change::replaced);
  CHECK(replaced);
}

}  // namespace lineward::config
