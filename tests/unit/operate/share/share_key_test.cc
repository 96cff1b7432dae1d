#include "operate/share/share_key.h"

#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace lineward;
using share::ShareFacts;

namespace {

ShareFacts some() {
  ShareFacts facts;
  facts.version = "1.0";
  facts.revision = "abc";
  facts.words = {{"--", "npx"}, {"--", "server"}};
  facts.files = {{"/etc/a.yaml", "mcpServers: {}"}};
  facts.looked_up = {{"TOKEN", "secret"}, {"OTHER", std::nullopt}};
  facts.environment = {{"s PATH", "/bin"}};
  facts.directory = "/home/a";
  facts.machine = {"1 2 3"};
  facts.from_files = {"value"};
  return facts;
}

config::Config with_server(std::string command) {
  config::Config config;
  config::Server server;
  server.name = "s";
  server.command = std::move(command);
  config.servers.push_back(server);
  return config;
}

}  // namespace

TEST_CASE("a key is the same for the same facts, and another for each that differs") {
  const std::string key = share::share_key(some());
  CHECK(key.size() == 32);
  CHECK(key == share::share_key(some()));
  CHECK(key.find("secret") == std::string::npos);
  std::set<std::string> keys{key};
  const std::vector<std::function<void(ShareFacts&)>> changes{
      [](ShareFacts& it) { it.version = "1.1"; },
      [](ShareFacts& it) { it.revision = "abd"; },
      [](ShareFacts& it) { it.words.pop_back(); },
      [](ShareFacts& it) {
        it.words = {{"--", "npxserver"}};
      },
      [](ShareFacts& it) { it.files[0].second += " "; },
      [](ShareFacts& it) { it.files[0].first = "/etc/b.yaml"; },
      [](ShareFacts& it) { it.looked_up["TOKEN"] = "secret2"; },
      [](ShareFacts& it) { it.looked_up["OTHER"] = ""; },
      [](ShareFacts& it) { it.looked_up.erase("OTHER"); },
      [](ShareFacts& it) { it.environment["s PATH"] = "/usr/bin"; },
      [](ShareFacts& it) { it.environment["s A"] = ""; },
      [](ShareFacts& it) { it.directory = "/home/b"; },
      [](ShareFacts& it) { it.directory.clear(); },
      [](ShareFacts& it) { it.machine[0] = "1 2 4"; },
      [](ShareFacts& it) { it.from_files[0] = "other"; },
  };
  for (const auto& change : changes) {
    ShareFacts other = some();
    change(other);
    keys.insert(share::share_key(other));
  }
  CHECK(keys.size() == changes.size() + 1);
}

TEST_CASE("the variables that a server gets count, but for the noise of shells and terminals") {
  config::Config config = with_server("npx");
  const char* own[] = {"PATH=/bin", "PWD=/a", "SECRET=1", "HTTPS_PROXY=p", "OTEL_SERVICE_NAME=x", nullptr};
  auto counted = share::counted_environment(config, own);
  CHECK(counted.count("s PATH") == 1);
  CHECK(counted.count("s SECRET") == 0);
  CHECK(counted.count(" HTTPS_PROXY") == 1);
  CHECK(counted.count(" OTEL_SERVICE_NAME") == 1);
  config.servers[0].inherit_env.mode = config::InheritedEnv::Mode::all;
  counted = share::counted_environment(config, own);
  CHECK(counted.count("s SECRET") == 1);
  CHECK(counted.count("s PWD") == 0);
  CHECK(counted.count(" PATH") == 0);
  config.plugins.emplace_back();
  CHECK(share::counted_environment(config, own).count(" PATH") == 1);
  config.servers[0].disabled = true;
  CHECK(share::counted_environment(config, own).count("s PATH") == 0);
}

TEST_CASE("the working directory counts unless no server starts in it") {
  config::Config config = with_server("npx");
  CHECK(share::depends_on_directory(config));
  config.servers[0].cwd = "below";
  CHECK(share::depends_on_directory(config));
  config.servers[0].cwd = "/srv";
  CHECK_FALSE(share::depends_on_directory(config));
  config.servers[0].cwd.clear();
  config.servers[0].url = "https://example.com/mcp";
  CHECK_FALSE(share::depends_on_directory(config));
  config.audit.path = "audit.log";
  CHECK(share::depends_on_directory(config));
}
