// How much is under way between two workers, and what becomes of it when one side ends.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>

#include "proxy/upstream/layers/listen_hub.h"
#include "unit/proxy/cluster/remote_world.h"

using namespace lineward;
using namespace lineward::upstream;
using namespace lineward::cluster;
using namespace lineward::cluster::remote_test;

TEST_CASE(
    "a server is held back while much of a call waits on the other thread, and goes on when it was taken") {
  World world;
  auto call = world.near.start(world.asker);
  size_t said = 0;
  world.far.run([&] {
    auto& server = *world.far.server;
    while (server.heard[0]->pauses.empty() || !server.heard[0]->pauses.back()) {
      if (++said == 1000) break;
      server.last->say(progress(1, 10000));
    }
  });
  CHECK(said > 10);
  CHECK(said < 100);
  world.near.listen();
  CHECK(world.asker.heard.size() == said);
  world.far.run([&] { CHECK_FALSE(world.far.server->heard[0]->pauses.back()); });
  call->cancel("done");
}

TEST_CASE("a call of which far too much waits ends, where its server cannot be held back") {
  World world;
  auto call = world.near.start(world.asker);
  world.far.run([&] {
    auto& server = *world.far.server;
    server.last->pausable = false;
    for (int n = 0; n < 100 && server.heard[0]->cancelled.empty(); ++n)
      server.last->say(progress(1, 1 << 20));
    CHECK_FALSE(server.heard[0]->cancelled.empty());
  });
  world.near.listen();
  REQUIRE(world.asker.failed);
  CHECK(world.asker.failed->reason == EndReason::client_too_slow);
}

TEST_CASE("calls of a worker that ends fail: those it has, those on their way, those that come after") {
  World world;
  Asker had, coming, late;
  auto first = world.near.start(had);
  world.far.run([] {});
  std::promise<void> posted;
  world.far.mailbox->post([&] {
    world.far.loop->stop();
    posted.get_future().wait();
  });
  auto second = world.near.start(coming);  // behind the stop: it may stay undone
  posted.set_value();
  world.far.thread.join();
  auto third = world.near.start(late);
  world.near.listen();
  for (Asker* one : {&had, &coming, &late}) {
    REQUIRE(one->failed);
    CHECK(one->failed->reason == EndReason::cancelled_drain);
  }
  CHECK_FALSE(first->live());
  CHECK_FALSE(second->live());
  CHECK_FALSE(third->live());
}

TEST_CASE("a call to a server that has gone fails, though its worker is there") {
  World world;
  world.far.run([&] { world.far.call_server.reset(); });
  auto call = world.near.start(world.asker);
  world.near.listen();
  REQUIRE(world.asker.failed);
}

TEST_CASE("a worker lets go of its server when the other's proxy has gone") {
  World world;
  std::weak_ptr<void> lease = world.far.lease;
  world.far.run([&] { world.far.lease.reset(); });
  CHECK_FALSE(lease.expired());
  world.near.upstream.reset();
  world.far.run([&] { CHECK(lease.expired()); });
}

TEST_CASE("a message to a worker does no harm after its callers have gone") {
  World world;
  auto call = world.near.start(world.asker);
  world.far.run([&] { world.far.server->last->say(progress(1)); });
  call->cancel("leaving");
  call.reset();
  world.near.upstream.reset();  // a message for its table is still there
  world.near.listen();
  CHECK(world.asker.heard.empty());
}

TEST_CASE("many equal listens are one listen on the other thread") {
  World world;
  config::Server server;
  server.name = "fake";
  auto mine = std::make_unique<RemoteUpstream>(world.near.loop, world.near.mailbox, "fake",
                                               world.near.address(), RemoteState{mcp::Era::modern, {}});
  ListenHub hub(world.near.loop, std::move(mine), server);
  std::vector<Asker> askers(100);
  std::vector<std::unique_ptr<core::Call>> calls;
  for (auto& asker : askers) {
    auto call = hub.start(request(1, "subscriptions/listen"), asker);
    REQUIRE(call);
    calls.push_back(std::move(*call));
  }
  world.serve([](FakeServer& its) {
    CHECK(its.started == 1);
    its.its_era = mcp::Era::modern;
    its.last->say(parse(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",)"
                        R"("params":{"notifications":{"toolsListChanged":true}}})"));
    its.last->say(parse(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"));
  });
  for (auto& asker : askers)
    CHECK(asker.heard.size() == 2);
  for (auto& call : calls)
    call->cancel("leaving");
  world.far.run([&] { CHECK_FALSE(world.far.server->heard[0]->cancelled.empty()); });
}

// For ThreadSanitizer above all: both sides as fast as they can, with cancels at any moment.
TEST_CASE("thousands of calls, some of which are cancelled at any moment, end once each") {
  World world;
  struct Each {
    Asker asker;
    std::unique_ptr<core::Call> call;
    bool cancelled = false;
    size_t heard_then = 0;
  };
  constexpr size_t kCalls = 2000;
  std::vector<Each> all(kCalls);
  std::atomic<bool> over = false;
  // All present calls get a message and an answer, turn by turn.
  std::function<void()> answer = [&] {
    for (FakeCall* one : std::set<FakeCall*>(world.far.server->open)) {
      if (!one->live()) continue;
      one->say(progress(1));
      one->say(result(1));
    }
    if (!over) world.far.mailbox->post([&] { answer(); });
  };
  world.far.mailbox->post([&] { answer(); });
  for (size_t n = 0; n < kCalls; ++n) {
    all[n].call = world.near.start(all[n].asker, n + 1);
    if (n % 3 == 0 && n > 10) {
      Each& one = all[n - 10];
      if (one.call->live()) {
        one.cancelled = true;
        one.heard_then = one.asker.heard.size();
        one.call->cancel("at any moment");
      }
    }
    if (n % 50 == 0) world.near.listen();
  }
  over = true;
  world.near.listen();
  size_t answered = 0, cancelled = 0;
  for (Each& one : all) {
    if (one.cancelled) {
      ++cancelled;
      CHECK(one.asker.heard.size() == one.heard_then);
    } else if (one.call->live()) {  // it came after the last turn
      one.call->cancel("the end");
    } else {
      ++answered;
      CHECK(one.asker.heard.size() == 2);
    }
  }
  CHECK(answered > 100);
  CHECK(cancelled > 10);
  world.far.run([&] { CHECK(world.far.call_server->size() == 0); });
}

TEST_CASE(
    "the answer of a session's worker about its client counts once, and not after a use of the session") {
  World world;
  core::Scope scope;
  scope.bridged_session = "s";
  world.far.run([&] {
    RemoteCallServer& server = *world.far.call_server;
    server.open_scope(scope);
    const core::ScopeCallbacks& asked = *world.far.server->scope;
    CHECK_FALSE(asked.abandoned_for());
    CHECK_FALSE(asked.unused_for());
    CHECK(asked.is_pinned());
    const RemoteCallServer::Presence gone{false, std::chrono::milliseconds(80),
                                          std::chrono::milliseconds(90)};
    server.told_presence("s", gone);
    CHECK(asked.abandoned_for() == std::chrono::milliseconds(90));
    CHECK_FALSE(asked.abandoned_for());
    CHECK(asked.unused_for() == std::chrono::milliseconds(80));
    CHECK_FALSE(asked.unused_for());
    CHECK_FALSE(asked.is_pinned());
    server.told_presence("s", gone);
    server.send(scope, mcp::Era::legacy, progress(1), {});
    CHECK_FALSE(asked.abandoned_for());
    CHECK_FALSE(asked.unused_for());
    CHECK(asked.is_pinned());
    server.close_scope(scope);
  });
}

TEST_CASE("a session's worker is asked about few clients at once, about each in turn and not twice") {
  struct Owner final : core::ScopeCallbacks {
    void on_scope_message(mcp::Message, std::optional<uint64_t>) override {}
    void on_scope_reset() override {}
    std::optional<std::chrono::milliseconds> unused_for() const override {
      ++asked;
      return std::chrono::milliseconds(80);
    }
    mutable int asked = 0;
  };
  World world;
  std::array<Owner, 40> owners;
  std::vector<core::ScopeCallbacks*> scopes;
  for (size_t i = 0; i < owners.size(); ++i) {
    core::Scope scope;
    scope.bridged_session = "s" + std::to_string(i);
    world.near.upstream->open_scope(scope, owners[i]);
    world.far.run([&] { scopes.push_back(world.far.server->scope); });
  }
  const auto asked = [&] {
    return std::accumulate(owners.begin(), owners.end(), 0,
                           [](int sum, const Owner& one) { return sum + one.asked; });
  };
  // A newcomer looks at all of them. Returns how many answers it had.
  const auto look = [&](int times) {
    int had = 0;
    world.far.run([&] {
      for (int i = 0; i < times; ++i)
        had += static_cast<int>(std::count_if(scopes.begin(), scopes.end(),
                                              [](auto* one) { return one->unused_for().has_value(); }));
    });
    for (int i = 0; i < 5; ++i)  // the question is asked at the end of a turn, and answered in others
      world.near.listen();
    return had;
  };
  CHECK(look(100) == 0);
  CHECK(asked() == 16);
  CHECK(look(1) == 16);
  CHECK(asked() == 32);
  CHECK(look(1) == 16);
  CHECK(asked() == 48);
  CHECK(std::all_of(owners.begin(), owners.end(), [](const Owner& one) { return one.asked >= 1; }));
  CHECK(std::none_of(owners.begin(), owners.end(), [](const Owner& one) { return one.asked > 2; }));
}
