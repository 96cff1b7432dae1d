#include "proxy/upstream/http/origin_set.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "unit/foundation/net/turns.h"

namespace lineward::upstream {
namespace {

using namespace std::chrono_literals;
using State = core::UpstreamStatus::Origin::State;

struct ClosedLoop : net::Loop {
  ~ClosedLoop() { close_all(); }
};

struct World {
  explicit World(std::vector<config::OriginUrl> urls) {
    server.name = "of-" + std::to_string(++worlds);
    server.urls = std::move(urls);
    server.url = server.urls.empty() ? "http://127.0.0.1:1/mcp" : server.urls.front().url;
  }
  // How many of the picks each origin gets.
  std::map<std::string, int> picks(OriginSet& set, int times, uint64_t tried = 0) {
    std::map<std::string, int> out;
    for (int i = 0; i < times; ++i) {
      Origin* origin = set.pick(tried);
      ++out[origin == nullptr ? "none" : origin->state().name];
    }
    return out;
  }
  static inline int worlds = 0;
  ClosedLoop loop;
  config::Server server;
  const SharedPart alone;
};

const config::OriginUrl kOne{"http://127.0.0.1:1/mcp"}, kTwo{"http://127.0.0.1:2/mcp"},
    kThree{"http://127.0.0.1:3/mcp"};

Origin& of(OriginSet& set, const std::string& name, uint64_t tried = 0) {
  for (int i = 0; i < 10000; ++i) {
    Origin* origin = set.pick(tried);
    REQUIRE(origin != nullptr);
    if (origin->state().name == name) return *origin;
  }
  FAIL("it is never picked");
  return set.first();
}

}  // namespace

TEST_CASE("origins get calls by their weights") {
  World world({kOne, {kTwo.url, 3}});
  OriginSet set(world.loop, world.server, world.alone);
  auto picks = world.picks(set, 4000);
  CHECK(picks["127.0.0.1:1"] > 800);
  CHECK(picks["127.0.0.1:1"] < 1200);
  CHECK(picks["127.0.0.1:2"] == 4000 - picks["127.0.0.1:1"]);
}

TEST_CASE("of two origins that are drawn the one with fewer calls in flight gets a call") {
  World world({kOne, {kTwo.url, 2}, kThree});
  OriginSet set(world.loop, world.server, world.alone);
  Origin& one = of(set, "127.0.0.1:1");
  Origin& two = of(set, "127.0.0.1:2");

  SECTION("for its weight") {
    const OriginUse third(of(set, "127.0.0.1:3"), OriginUse::As::call);
    const OriginUse first(one, OriginUse::As::call), again(one, OriginUse::As::call);
    const OriginUse second(two, OriginUse::As::call), more(two, OriginUse::As::call);
    auto picks = world.picks(set, 1000);  // 2 for 1, 2 for 2, 1 for 1
    CHECK(picks["127.0.0.1:1"] == 0);
    CHECK(picks["127.0.0.1:2"] > 400);
    CHECK(picks["127.0.0.1:3"] > 100);
  }
  SECTION("streams and sessions do not count") {
    const OriginUse session(one, OriginUse::As::session), stream(one, OriginUse::As::other);
    CHECK(world.picks(set, 1000)["127.0.0.1:1"] > 100);
    CHECK(one.state().sessions == 1);
    CHECK(one.state().in_flight == 0);
  }
  SECTION("a call that has ended does not count") {
    {
      OriginUse use(one, OriginUse::As::call);
      CHECK(one.state().in_flight == 1);
      OriginUse moved = std::move(use);
      CHECK(one.state().in_flight == 1);
      CHECK_FALSE(one.is_unused());
    }
    CHECK(one.state().in_flight == 0);
    CHECK(one.state().calls == 1);
    CHECK(one.is_unused());
  }
}

TEST_CASE("an origin that was tried is not picked again") {
  World world({kOne, kTwo});
  OriginSet set(world.loop, world.server, world.alone);
  const uint64_t one = of(set, "127.0.0.1:1").bit();
  CHECK(world.picks(set, 100, one)["127.0.0.1:2"] == 100);
  const uint64_t two = of(set, "127.0.0.1:2").bit();
  CHECK(set.pick(one | two) == nullptr);
  CHECK(set.another(one)->bit() == two);
}

TEST_CASE("a drained origin is not picked") {
  World world({kOne, {kTwo.url, 1, true}});
  OriginSet set(world.loop, world.server, world.alone);
  CHECK(world.picks(set, 100)["127.0.0.1:1"] == 100);
  CHECK(set.status()[1].state == State::draining);

  SECTION("whether the configuration or an operator says so") {
    OriginBook::find(world.server.name)->named("127.0.0.1:1")->drained = true;
    CHECK(set.pick() == nullptr);
    CHECK(set.refusal().reason == mcp::EndReason::queue_full);
    CHECK(set.refusal().text.find("drained") != std::string::npos);
    CHECK(&set.any() == &set.first());
  }
  SECTION("a reload takes it back") {
    world.server.urls = {{kOne.url, 1, true}, kTwo};
    set.reconfigure();
    CHECK(world.picks(set, 100)["127.0.0.1:2"] == 100);
  }
}

TEST_CASE("an ejected origin is picked only if there is no other") {
  World world({kOne, kTwo, kThree});
  world.server.origins.eject_after = 1;
  OriginSet set(world.loop, world.server, world.alone);
  Origin& one = of(set, "127.0.0.1:1");
  one.timed_out();
  CHECK(one.is_avoided(world.loop.now()));
  CHECK(world.picks(set, 300)["127.0.0.1:1"] == 0);
  CHECK(set.status()[0].state == State::ejected);
  const uint64_t others = of(set, "127.0.0.1:2").bit() | of(set, "127.0.0.1:3").bit();
  CHECK(set.pick(others) == &one);
}

TEST_CASE("an origin that is left alone is never picked") {
  World world({kOne, kTwo});
  OriginSet set(world.loop, world.server, world.alone);
  for (const char* name : {"127.0.0.1:1", "127.0.0.1:2"}) {
    Origin& origin = of(set, name);
    origin.state().leave_alone_until(world.loop.now() + 2500ms);
  }
  CHECK(set.pick() == nullptr);
  const core::Failure refusal = set.refusal();
  CHECK(refusal.reason == mcp::EndReason::circuit_open);
  CHECK(refusal.retry_after_ms == 2500);
  CHECK(refusal.headers == core::HeaderFields{{"Retry-After", "3"}});
}

TEST_CASE("an origin that a reload adds gets its share slowly") {
  World world({kOne});
  world.server.origins.slow_start = 1h;
  OriginSet set(world.loop, world.server, world.alone);
  CHECK(set.status()[0].state == State::ready);
  world.server.urls = {kOne, kTwo};
  set.reconfigure();
  auto picks = world.picks(set, 2000);
  CHECK(picks["127.0.0.1:2"] > 50);
  CHECK(picks["127.0.0.1:2"] < 400);
  CHECK(set.status()[1].state == State::slow_start);
}

TEST_CASE("an origin that a reload removes is kept while it is used") {
  World world({kOne, kTwo});
  OriginSet set(world.loop, world.server, world.alone);
  OriginUse use(of(set, "127.0.0.1:1"), OriginUse::As::session);
  world.server.urls = {kTwo};
  set.reconfigure();
  CHECK(world.picks(set, 100)["127.0.0.1:2"] == 100);
  CHECK(set.status().size() == 2);
  CHECK(set.status()[0].state == State::leaving);

  SECTION("and freed then") {
    use.give();
    world.server.urls = {kTwo, kThree};
    set.reconfigure();
    CHECK(set.status().size() == 2);
    CHECK(set.status()[0].name == "127.0.0.1:2");
  }
  SECTION("another reload may take it back") {
    world.server.urls = {kTwo, kOne};
    set.reconfigure();
    CHECK(world.picks(set, 100).size() == 2);
  }
}

TEST_CASE("each address of a name is an origin") {
  World world({{"http://many.example:8000/mcp", 3}, kTwo});
  world.server.origins.resolve = 1s;
  std::vector<std::string> hosts{"127.0.0.2", "127.0.0.1", "::1", "127.0.0.1"};
  std::atomic<int> asked{0};
  net::ResolverOptions names;
  names.look_up = [&](const std::string& name, uint16_t port) -> Result<net::Addresses> {
    if (name != "many.example" || ++asked > 1) return fail("no answer");
    net::Addresses out;
    for (const std::string& host : hosts)
      out.push_back({{}, (host == "::1" ? "[::1]:" : host + ":") + std::to_string(port)});
    return out;
  };
  OriginSet set(world.loop, world.server, world.alone, names);
  CHECK(set.status()[0].name == "many.example:8000");
  const auto names_of = [&] {
    std::string out;
    for (const auto& one : set.status())
      out += (out.empty() ? "" : " ") + one.name + (one.state == State::leaving ? "-" : "");
    return out;
  };
  CHECK(net::wait_for(world.loop, [&] { return names_of().find("many") == std::string::npos; }));
  CHECK(names_of() == "127.0.0.1:2 127.0.0.1:8000 127.0.0.2:8000 [::1]:8000");
  CHECK(set.status()[1].weight == 3);
  CHECK(set.status()[0].weight == 1);
  CHECK(net::wait_for(world.loop, [&] { return asked >= 2; }));  // it fails: nothing changes
  CHECK(names_of() == "127.0.0.1:2 127.0.0.1:8000 127.0.0.2:8000 [::1]:8000");
}

TEST_CASE("a server with one address has one origin, for which nothing is counted") {
  World world({});
  OriginSet set(world.loop, world.server, world.alone);
  CHECK_FALSE(set.are_several());
  CHECK(set.pick() == &set.first());
  const OriginUse use(set.first(), OriginUse::As::call);
  CHECK(set.first().state().in_flight == 0);
  CHECK(set.another(0) == nullptr);
  CHECK(set.status().empty());
  CHECK(OriginBook::find(world.server.name) == nullptr);
}

TEST_CASE("an invalid address is the fault of all calls") {
  World world({kOne, {"http://[::1/mcp"}});
  const OriginSet set(world.loop, world.server, world.alone);
  CHECK_FALSE(set.fault().empty());
}

}  // namespace lineward::upstream
