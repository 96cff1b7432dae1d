// The names of one aggregate on several workers (proxy/aggregate/shared_names.h).
#include "proxy/aggregate/shared_names.h"

#include <catch2/catch.hpp>

#include <set>
#include <thread>

#include "foundation/base/memory_charge.h"
#include "proxy/aggregate/name_map.h"

using namespace lineward;
using namespace lineward::aggregate;

namespace {

struct Workers {
  explicit Workers(config::PrefixMode mode = config::PrefixMode::always, size_t most_seen = kMaxSeen)
      : names(std::make_shared<SharedNames>(most_seen)) {
    rules.prefix_mode = mode;
    for (auto* one : {&first, &second}) {
      *one = std::make_unique<NameMap>(rules, names);
      for (const char* server : {"a", "b"})
        (*one)->uris.add_server(server);
    }
  }
  config::Aggregate rules;
  std::shared_ptr<SharedNames> names;
  std::unique_ptr<NameMap> first, second;
};

}  // namespace

TEST_CASE("a name that one worker gave has the same owner on the others") {
  Workers w(config::PrefixMode::on_conflict);
  CHECK(w.first->tools.to_client("a", "search") == "search");
  // This worker asks first for the other server: it learns of the claim before it gives a name.
  CHECK(w.second->tools.to_client("b", "search") == "b__search");
  CHECK(w.second->tools.to_client("a", "search") == "search");
  CHECK(w.first->tools.needs_lists("b__search"));
  w.first->catch_up();
  const auto target = w.first->tools.to_server("b__search", {"a", "b"});
  REQUIRE(target);
  CHECK(target->server == "b");
  CHECK(target->name == "search");
  // Prompts have names of their own.
  CHECK(w.second->prompts.to_client("b", "search") == "search");
  CHECK(w.first->prompts.to_client("a", "search") == "a__search");
}

TEST_CASE("without prefixes the second owner of a name is left out on each worker") {
  Workers w(config::PrefixMode::never);
  CHECK(w.second->tools.to_client("b", "x") == "x");
  CHECK(w.first->tools.to_client("a", "x").empty());
  CHECK(w.second->tools.to_client("a", "x").empty());
}

TEST_CASE("a bare URI, a template and a URI of a result belong to one server on each worker") {
  Workers w;
  CHECK(w.first->uris.listed("a", "ui://page") == "ui://page");
  CHECK(w.second->uris.listed("b", "ui://page") == "ui://b+page");
  CHECK(w.first->uris.listed_template("a", "https://x/{id}") == "https://x/{id}");
  CHECK(w.second->uris.listed_template("b", "https://x/{name}") == "b+https://x/{name}");
  CHECK(w.second->uris.to_client("b", "https://seen/1") == "https://seen/1");
  CHECK(w.first->uris.to_client("a", "https://seen/1") == "a+https://seen/1");
  w.first->catch_up();
  const auto target = w.first->uris.to_server("https://seen/1");
  REQUIRE(target);
  CHECK(target->server == "b");
}

TEST_CASE("pages of before are read anew once another worker has added a name") {
  Workers w;
  const uint64_t before = w.first->version(List::resources, true);
  CHECK(w.second->uris.listed("b", "ui://page") == "ui://page");
  w.first->catch_up();
  CHECK(w.first->version(List::resources, true) > before);
}

// The 10,000th URI of kMaxSeen follows the first ones: a worker that slept has what the others have.
TEST_CASE("a worker that was idle takes over the last URIs of results only") {
  Workers w(config::PrefixMode::always, kMaxSeen);
  for (size_t i = 0; i < kMaxSeen + 10; ++i)
    CHECK_FALSE(w.first->uris.to_client("a", "https://seen/" + std::to_string(i)).empty());
  w.second->catch_up();
  for (auto* one : {w.first.get(), w.second.get()}) {
    CHECK_FALSE(one->uris.to_server("https://seen/9"));
    CHECK(one->uris.to_server("https://seen/10"));
    CHECK(one->uris.to_server("https://seen/" + std::to_string(kMaxSeen + 9)));
  }
}

TEST_CASE("a worker that has missed URIs of results knows those that came after them") {
  Workers w(config::PrefixMode::always, kMaxSeen);
  CHECK(w.second->uris.to_client("a", "https://seen/again") == "https://seen/again");
  for (size_t i = 0; i < kMaxSeen; ++i)
    w.first->uris.to_client("a", "https://seen/" + std::to_string(i));
  CHECK(w.first->uris.to_client("b", "https://seen/again") == "https://seen/again");
  w.first->uris.to_client("a", "https://seen/last");
  w.second->catch_up();
  const auto again = w.second->uris.to_server("https://seen/again");
  REQUIRE(again);
  CHECK(again->server == "b");
}

TEST_CASE("claims that all workers have take no memory") {
  const uint64_t before = MemoryCharge::total(Held::servers);
  config::Aggregate rules;
  rules.prefix_mode = config::PrefixMode::on_conflict;
  const auto names = std::make_shared<SharedNames>(kMaxSeen);
  NameMap first(rules, names), second(rules, names);
  for (int i = 0; i < 3; ++i) {
    first.uris.add_server("a");
    second.uris.add_server("a");
    first.tools.to_client("a", "search");
    CHECK(MemoryCharge::total(Held::servers) > before);
    // A reload removes the server: each worker hears of it, and one tells the others.
    first.forget("a");
    second.forget("a");
    CHECK(MemoryCharge::total(Held::servers) == before);
    first.catch_up();
  }
}

TEST_CASE("workers that give the same names at once agree") {
  config::Aggregate rules;
  rules.prefix_mode = config::PrefixMode::on_conflict;
  const auto names = std::make_shared<SharedNames>(kMaxSeen);
  constexpr int kNames = 200;
  const std::vector<std::string> servers{"a", "b", "c", "d"};
  std::vector<std::unique_ptr<NameMap>> maps;
  for (size_t k = 0; k < servers.size(); ++k)
    maps.push_back(std::make_unique<NameMap>(rules, names));
  std::vector<std::thread> threads;
  for (size_t k = 0; k < servers.size(); ++k) {
    threads.emplace_back([&, k] {
      for (int i = 0; i < kNames; ++i) {
        const std::string name = "n" + std::to_string(i);
        maps[k]->catch_up();
        maps[k]->tools.to_client(servers[(k + static_cast<size_t>(i)) % servers.size()], name);
        maps[k]->uris.to_client(servers[k], "https://seen/" + name);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (auto& map : maps)
    map->catch_up();
  for (int i = 0; i < kNames; ++i) {
    const std::string name = "n" + std::to_string(i);
    std::set<std::string> owners, seen;
    for (auto& map : maps) {
      owners.insert(map->tools.to_server(name, servers)->server);
      seen.insert(map->uris.to_server("https://seen/" + name)->server);
    }
    CHECK(owners.size() == 1);
    CHECK(seen.size() == 1);
  }
}

TEST_CASE("names of a server that is removed are free on all workers") {
  Workers w(config::PrefixMode::never);
  CHECK(w.first->tools.to_client("a", "x") == "x");
  CHECK(w.first->prompts.to_client("a", "p") == "p");
  CHECK(w.first->uris.listed("a", "ui://page") == "ui://page");
  CHECK(w.first->uris.listed_template("a", "https://x/{id}") == "https://x/{id}");
  CHECK(w.first->uris.to_client("a", "https://seen/1") == "https://seen/1");
  CHECK(w.second->tools.to_client("b", "x").empty());
  const uint64_t before = w.second->version(List::tools, true);

  w.first->forget("a");
  CHECK(w.second->tools.to_client("b", "x") == "x");  // it has taken over first
  CHECK(w.second->version(List::tools, true) > before);
  CHECK(w.second->prompts.to_client("b", "p") == "p");
  CHECK(w.second->uris.listed("b", "ui://page") == "ui://page");
  CHECK(w.second->uris.listed_template("b", "https://x/{name}") == "https://x/{name}");
  CHECK(w.second->uris.to_client("b", "https://seen/1") == "https://seen/1");
  w.first->catch_up();
  CHECK(w.first->tools.to_server("x", {"b"})->server == "b");
  CHECK(w.first->uris.to_server("ui://page")->server == "b");
  CHECK(w.first->uris.to_server("https://x/7")->server == "b");
  CHECK(w.first->uris.to_server("https://seen/1")->server == "b");
  CHECK_FALSE(w.first->uris.to_server("a+file:///x"));
}

TEST_CASE("a server that comes back has its names again, if they are free") {
  Workers w(config::PrefixMode::on_conflict);
  CHECK(w.first->tools.to_client("a", "x") == "x");
  w.second->forget("a");
  w.first->uris.add_server("a");
  w.second->catch_up();
  CHECK(w.second->uris.to_server("a+file:///x")->server == "a");
  CHECK(w.second->tools.to_client("b", "x") == "x");
  CHECK(w.first->tools.to_client("a", "x") == "a__x");
}

TEST_CASE("claims that all workers have taken over are not kept") {
  Workers w(config::PrefixMode::never);
  w.second->catch_up();
  const uint64_t before = MemoryCharge::total(Held::servers);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 512; ++i)
      CHECK_FALSE(w.first->tools.to_client("a", "name" + std::to_string(i)).empty());
    w.second->catch_up();
    w.first->forget("a");
    w.second->catch_up();
  }
  CHECK(MemoryCharge::total(Held::servers) < before + 512 * 1024);
  // A worker that comes later begins with what is there.
  NameMap third(w.rules, w.names);
  CHECK(w.first->tools.to_client("b", "late") == "late");
  third.catch_up();
  CHECK(third.tools.to_server("late", {"b"})->server == "b");
}
