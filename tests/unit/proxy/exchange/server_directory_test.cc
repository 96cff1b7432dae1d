// Servers come, are found, and leave when their last lease has gone.
#include "proxy/exchange/server_directory.h"

#include <catch2/catch.hpp>

using namespace lineward;
using exchange::ServerDirectory;
using exchange::ServerRef;

namespace {

class QuietUpstream final : public core::Upstream {
 public:
  QuietUpstream() : Upstream("s") {}
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&&,
                                                           core::CallCallbacks&) override {
    return Unexpected<core::Failure>{{}};
  }
  void open_scope(const core::Scope&, core::ScopeCallbacks&) override {}
  void close_scope(const core::Scope&) override {}
  void send(const core::Scope&, mcp::Era, const mcp::Message&, const core::HeaderFields&) override {}
  core::UpstreamStatus status() const override {
    core::UpstreamStatus status;
    status.versions = {"2025-11-25"};
    return status;
  }
  core::ServerFacts facts() const override { return {mcp::Era::legacy}; }
  void stop(std::function<void()> done) override { done(); }
  core::UpstreamParts parts(const core::Scope&) override { return offered; }
  core::UpstreamParts offered;
};

struct Watcher final : metrics::CancelWatcher {
  void on_cancel_settled(uint64_t, const metrics::CancelReport&) override {}
};

struct World {
  void turn() {
    loop.defer([this] { loop.stop(); });
    loop.run();
  }
  net::Loop loop;
  Watcher watcher;
  config::Server server;
  QuietUpstream first, second;
  std::optional<ServerDirectory> directory{std::in_place, loop, watcher};
};

}  // namespace

TEST_CASE("a server is found by its name until it is retired") {
  World world;
  CHECK_FALSE(world.directory->lease("s"));
  CHECK_FALSE(world.directory->versions("s"));
  world.directory->add(world.first, world.server);
  CHECK(metrics::upstream_stats("s").cancel_watcher == &world.watcher);
  CHECK(&world.directory->lease("s").upstream() == &world.first);
  CHECK(world.directory->versions("s")->size() == 1);

  int left = 0;
  CHECK_FALSE(world.directory->retire(world.second, [&] { ++left; }));  // it is not here
  CHECK(world.directory->retire(world.first, [&] { ++left; }));
  CHECK_FALSE(world.directory->lease("s"));
  CHECK(left == 0);  // not from inside
  world.turn();
  CHECK(left == 1);
}

TEST_CASE("a lease keeps the form that it is with, and new calls go to the next one") {
  World world;
  world.directory->add(world.first, world.server);
  ServerRef call = world.directory->lease("s");
  auto other_road = world.directory->leases(world.first)();
  int left = 0;
  world.directory->retire(world.first, [&] { ++left; });
  world.directory->add(world.second, world.server);
  CHECK(call->retiring);
  CHECK(&world.directory->lease("s").upstream() == &world.second);
  call = ServerRef();
  world.turn();
  CHECK(left == 0);
  other_road.reset();
  world.turn();
  CHECK(left == 1);
}

TEST_CASE("a lease that outlives the directory reports nothing") {
  World world;
  world.directory->add(world.first, world.server);
  int left = 0;
  ServerRef call = world.directory->retire(world.first, [&] { ++left; });
  SECTION("it goes after the directory") {
    world.directory.reset();
    call = ServerRef();
  }
  SECTION("the directory goes in the same turn, after it") {
    call = ServerRef();
    world.directory.reset();
  }
  CHECK(metrics::upstream_stats("s").cancel_watcher == nullptr);
  world.turn();
  CHECK(left == 0);
}

namespace {

struct FakeHop final : core::Hop {
  void pause() override {}
  void resume() override {}
};

struct FakeHopListener final : core::HopListener {
  void on_hop_head(int, std::string, core::HeaderFields) override {}
  void on_hop_body(std::string_view) override {}
  void on_hop_end(const std::string&) override {}
};

struct FakeHopSource final : core::HopSource {
  std::unique_ptr<core::Hop> hop(core::HopRequest request, core::HopListener& listener) override {
    methods.emplace_back(request.method);
    to = &listener;
    return std::make_unique<FakeHop>();
  }
  std::vector<std::string> methods;
  core::HopListener* to = nullptr;
};

}  // namespace

TEST_CASE("a request without a message goes to the server of its name, if that one takes such requests") {
  World world;
  FakeHopListener listener;
  FakeHopSource source;
  CHECK(world.directory->hop("s", {"GET", {}}, listener) == nullptr);
  world.directory->add(world.first, world.server);
  CHECK(world.directory->hop("s", {"GET", {}}, listener) == nullptr);
  world.first.offered.hops = &source;
  CHECK(world.directory->hop("s", {"DELETE", {}}, listener) != nullptr);
  CHECK(source.methods == std::vector<std::string>{"DELETE"});
  CHECK(source.to == &listener);
  CHECK(world.directory->hop("t", {"GET", {}}, listener) == nullptr);
}
