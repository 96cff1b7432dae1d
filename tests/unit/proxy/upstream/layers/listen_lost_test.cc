// A shared listen after its loss, and callers that join it meanwhile.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proxy/core/passing_upstream.h"
#include "proxy/upstream/layers/listen_hub.h"

using namespace lineward;
using namespace lineward::upstream;
using core::CallPhase;
using mcp::EndReason;

namespace {

constexpr const char* kListen =
    R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}})";
constexpr const char* kAcknowledged =
    R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}})";

mcp::Message parse(std::string text) {
  auto message = mcp::Message::parse(std::move(text));
  REQUIRE(message);
  return std::move(*message);
}

struct Listener final : core::CallCallbacks {
  std::vector<CallPhase> phases;
  int heard = 0;
  std::optional<EndReason> failed;
  void on_call_phase(CallPhase phase) override { phases.push_back(phase); }
  void on_call_message(mcp::Message&&) override { ++heard; }
  void on_call_failed(const core::Failure& failure) override { failed = failure.reason; }
};

// The server, and what it was asked.
struct Server {
  int listens = 0;
  core::CallCallbacks* owner = nullptr;  // of the last one
  bool* alive = nullptr;
  std::vector<std::string> cancelled;
  std::optional<EndReason> refuses;
  std::function<void()> asked = [] {};
  void say(const char* text) { owner->on_call_message(parse(text)); }
  void end(const char* text) {
    *alive = false;
    say(text);
  }
  void fail(EndReason reason) {
    *alive = false;
    core::Failure failure;
    failure.reason = reason;
    owner->on_call_failed(failure);
  }
};

struct ServersCall final : core::Call {
  ServersCall(Server& its_server, core::UpstreamRequest its_request)
      : server(its_server), request(std::move(its_request)) {
    server.alive = &alive;
  }
  void cancel(core::CancelCause why) override {
    server.cancelled.emplace_back(why.text);
    alive = false;
  }
  bool live() const override { return alive; }
  void reply(std::string) override {}
  void hand_over(core::CallCallbacks&, core::Handover) override {}
  core::CallFacts call_facts() const override { return {&request.message}; }
  void retried(mcp::Message) override {}
  Server& server;
  core::UpstreamRequest request;
  bool alive = true;
};

struct Transport final : core::PassingUpstream {
  explicit Transport(Server& its_server) : PassingUpstream("s"), server(its_server) {}
  core::ServerFacts facts() const override { return {mcp::Era::modern}; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override {
    ++server.listens;
    server.asked();
    if (server.refuses) {
      core::Failure failure;
      failure.reason = *server.refuses;
      return Unexpected<core::Failure>{std::move(failure)};
    }
    server.owner = &owner;
    return Result<std::unique_ptr<core::Call>, core::Failure>(
        std::make_unique<ServersCall>(server, std::move(request)));
  }
  Server& server;
};

struct World {
  World() {
    config.name = "s";
    config.restart.backoff = config.restart.max_backoff = std::chrono::milliseconds(1);
  }
  std::unique_ptr<core::Call> listen(Listener& listener) {
    core::UpstreamRequest request;
    request.message = parse(kListen);
    request.method = mcp::Method::subscriptions_listen;
    request.client_era = mcp::Era::modern;
    auto call = hub.start(std::move(request), listener);
    REQUIRE(call);
    loop.close_deferred();
    return std::move(*call);
  }
  // Until the server was asked at least so many times.
  void until(int listens) {
    server.asked = [this, listens] {
      if (server.listens >= listens) loop.stop();
    };
    if (server.listens < listens) loop.run();
  }
  net::Loop loop;
  config::Server config;
  Server server;
  ListenHub hub{loop, std::make_unique<Transport>(server), config};
};

}  // namespace

TEST_CASE("a client that joins a listen during its reopening waits for its acknowledgement") {
  World world;
  Listener first, second;
  auto one = world.listen(first);
  world.server.owner->on_call_phase(CallPhase::written);
  world.server.say(kAcknowledged);
  CHECK(first.heard == 1);
  bool by_hub = false;
  SECTION("by the hub: its server ended it") {
    by_hub = true;
    world.server.end(R"({"jsonrpc":"2.0","id":1,"result":{}})");
  }
  SECTION("further below: its process is gone") {
    world.server.owner->on_call_phase(CallPhase::starting);
  }
  auto two = world.listen(second);
  CHECK(second.heard == 0);
  CHECK(second.phases == std::vector{CallPhase::starting});
  if (by_hub) world.until(2);
  world.server.owner->on_call_phase(CallPhase::written);
  CHECK(second.heard == 0);
  world.server.say(kAcknowledged);
  CHECK(second.heard == 1);
  CHECK(first.heard == 2);
  CHECK(world.server.cancelled.empty());
  one->cancel("end");
  two->cancel("end");
}

TEST_CASE("lack of room never ends a listen that was acknowledged; other failures have a budget") {
  World world;
  Listener client;
  auto call = world.listen(client);
  world.server.owner->on_call_phase(CallPhase::written);
  world.server.say(kAcknowledged);
  SECTION("no room") {
    auto reason = GENERATE(EndReason::queue_full, EndReason::circuit_open, EndReason::timeout_queue);
    world.server.refuses = reason;
    world.server.fail(reason);
    world.until(40);
    CHECK_FALSE(client.failed);
    world.server.refuses.reset();
    world.until(41);
    world.server.say(kAcknowledged);
    CHECK(client.heard == 2);
    call->cancel("end");
  }
  SECTION("no server there") {
    world.server.refuses = EndReason::upstream_unreachable;
    world.server.end(R"({"jsonrpc":"2.0","id":1,"result":{}})");
    world.until(9);
    world.loop.close_deferred();
    CHECK(client.failed);
    CHECK(world.server.listens == 9);
  }
  SECTION("what is below has used up its own budget") {
    world.server.fail(EndReason::upstream_exited);
    CHECK(client.failed == EndReason::upstream_exited);
    CHECK(world.server.listens == 1);
  }
  SECTION("a policy") {
    *world.server.alive = false;
    core::Failure failure;
    failure.reason = EndReason::queue_full;
    failure.by_policy = true;
    world.server.owner->on_call_failed(failure);
    CHECK(client.failed == EndReason::queue_full);
  }
  CHECK(world.server.cancelled.size() <= 1);
}
