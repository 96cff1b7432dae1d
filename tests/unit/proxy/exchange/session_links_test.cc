// Sessions that several replicas serve: their scopes are taken over, followed and left, never closed.
#include "proxy/exchange/session_links.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "unit/proxy/exchange/exchange_world.h"

using namespace lineward;
using namespace lineward::exchange;

namespace {

struct FakeScopes final : core::PortableScopes {
  std::optional<core::ScopeState> share_scope(const core::Scope&) override { return std::nullopt; }
  core::Adoption adopt_scope(const core::Scope& scope, core::ScopeCallbacks&,
                             const core::ScopeState& state) override {
    seen.push_back("adopt " + scope.principal + " " + state.server_session);
    return outcome;
  }
  void open_stream(const core::Scope&, const core::HeaderFields&) override {
    seen.emplace_back("open stream");
  }
  void close_stream(const core::Scope&) override { seen.emplace_back("close stream"); }
  void when_settled(const core::Scope&, std::function<void()> done) override { done(); }
  void leave_scope(const core::Scope&) override { seen.emplace_back("leave"); }
  core::Adoption outcome = core::Adoption::done;
  std::vector<std::string> seen;
};

class Server final : public core::Upstream {
 public:
  explicit Server(FakeScopes& scopes) : Upstream("s"), scopes_(scopes) {}
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&&,
                                                           core::CallCallbacks&) override {
    return Unexpected<core::Failure>{{}};
  }
  void open_scope(const core::Scope&, core::ScopeCallbacks&) override {}
  void close_scope(const core::Scope&) override { scopes_.seen.emplace_back("close"); }
  void send(const core::Scope&, mcp::Era, const mcp::Message&, const core::HeaderFields&) override {}
  core::UpstreamStatus status() const override { return {}; }
  core::ServerFacts facts() const override { return {mcp::Era::legacy}; }
  void stop(std::function<void()> done) override { done(); }
  core::UpstreamParts parts(const core::Scope&) override { return offered; }
  core::UpstreamParts offered;

 private:
  FakeScopes& scopes_;
};

struct Watcher final : metrics::CancelWatcher {
  void on_cancel_settled(uint64_t, const metrics::CancelReport&) override {}
};

struct World {
  World() {
    server.offered.portable = &scopes;
    directory.add(server, config);
    links.use_sessions(sessions);
  }
  net::Loop loop;
  Watcher watcher;
  config::Server config;
  FakeScopes scopes;
  Server server{scopes};
  ServerDirectory directory{loop, watcher};
  LiveExchanges exchanges;
  const Plugins no_plugins;
  const config::Listen limits;
  client::SessionTable sessions{loop, limits, [](const std::string&) {}};
  SessionLinks links{loop, exchanges, directory, no_plugins};
  const std::string id = sessions.create("p", "s", nullptr)->id;
  const core::ScopeState state{"theirs", "2025-11-25", std::nullopt};
};

}  // namespace

TEST_CASE("a session of another replica is taken over, followed, and left") {
  World world;
  REQUIRE(world.links.adopt(world.id, world.state) == core::Adoption::done);
  CHECK(world.sessions.find(world.id)->revision == "2025-11-25");
  CHECK(world.links.count_of(world.server) == 1);
  CHECK(world.links.adopt(world.id, world.state) == core::Adoption::refused);  // it is here already
  world.links.stream_opened(world.id, {});
  world.links.stream_closed(world.id);
  bool settled = false;
  world.links.when_settled(world.id, [&] { settled = true; });
  CHECK(settled);
  SECTION("this replica forgets it") {
    world.links.end(world.id);
    CHECK(world.scopes.seen ==
          std::vector<std::string>{"adopt p theirs", "open stream", "close stream", "leave"});
  }
  SECTION("its client ends it") {
    world.sessions.find(world.id)->deleted = true;
    world.links.end(world.id);
    CHECK(world.scopes.seen ==
          std::vector<std::string>{"adopt p theirs", "open stream", "close stream", "close"});
  }
  CHECK(world.sessions.find(world.id) == nullptr);
}

TEST_CASE("a session that the server cannot continue here is not taken over") {
  World world;
  core::Adoption expected = core::Adoption::refused;
  SECTION("it refuses") {
    world.scopes.outcome = core::Adoption::refused;
  }
  SECTION("it has no room") {
    expected = world.scopes.outcome = core::Adoption::full;
  }
  SECTION("its sessions are local") {
    world.server.offered.portable = nullptr;
  }
  CHECK(world.links.adopt(world.id, world.state) == expected);
  CHECK(world.links.count_of(world.server) == 0);
  CHECK(world.links.adopt("unknown", world.state) == core::Adoption::refused);
}
