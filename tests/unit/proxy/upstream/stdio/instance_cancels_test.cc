#include "proxy/upstream/stdio/instance_cancels.h"

#include <list>

#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;
using metrics::CancelOutcome;
using metrics::CancelTold;
using std::chrono::milliseconds;

namespace {

struct Cancels final : metrics::CancelWatcher {
  explicit Cancels(const std::string& upstream) : stats(metrics::upstream_stats(upstream)) {
    stats.cancel_watcher = this;
  }
  ~Cancels() { stats.cancel_watcher = nullptr; }
  void on_cancel_settled(uint64_t tag, const metrics::CancelReport& report) override {
    settled.push_back({tag, report.outcome, report.told});
  }
  struct Settled {
    uint64_t tag;
    CancelOutcome outcome;
    CancelTold told;
    bool operator==(const Settled&) const = default;
  };
  metrics::UpstreamStats& stats;
  std::vector<Settled> settled;
};

constexpr milliseconds kNeverOver{3600000};
constexpr milliseconds kSoonOver{200};

struct World {
  // The grace ends in no test but those that wait for its end: this process may stand still for any time.
  explicit World(milliseconds grace = kNeverOver) { stdio.server.timeouts.cancel_grace = grace; }
  ~World() {
    cancels.clear();
    for (StdioCall& call : made)
      call.answer(parse(R"({"jsonrpc":"2.0","id":1,"result":{}})"));
  }
  StdioCall& sent(std::string_view method = "tools/call") {
    core::UpstreamRequest request =
        request_of(mcp::Era::legacy, R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + "\"}");
    request.tag = 100 + made.size();
    StdioCall& one = made.emplace_back(stdio.made(), std::move(request), asker);
    PendingCall entry;
    entry.call = &one;
    entry.counts = true;
    one.id = calls.add(std::move(entry));
    return one;
  }
  // Reports the rest, and ends this turn.
  void turn() {
    stdio.loop.defer([this] { stdio.loop.stop(); });
    stdio.loop.run();
  }
  // Cancelled, and the server is behind with reading.
  StdioCall& cancelled_unread() {
    StdioCall& call = sent();
    wire.owed = 1;
    cancels.cancel(call, "enough");
    turn();
    return call;
  }
  // Until the graces that run are over.
  void graces() {
    wait_until([&] { return wire.freed > 0; });
  }
  template <class Condition>
  void wait_until(Condition condition) {
    net::Timer look(stdio.loop), guard(stdio.loop);
    std::function<void()> again = [&] {
      if (condition()) return stdio.loop.stop();
      look.start(milliseconds(1), again);
    };
    look.start(milliseconds(1), again);
    guard.start(milliseconds(5000), [&] { stdio.loop.stop(); });
    stdio.loop.run();
    CHECK(condition());
  }

  StdioWorld stdio;
  Cancels watcher{"files"};
  Asker asker;
  Counter counter;
  FakeWire wire;
  InstanceCalls calls{stdio.loop, stdio.server, counter};
  InstanceCancels cancels{stdio.loop, stdio.server, calls, wire};
  std::list<StdioCall> made;
};

const char* const kResult = R"({"jsonrpc":"2.0","id":1,"result":{}})";

}  // namespace

TEST_CASE("a cancel is told at the end of the turn, once, with the server's id and the reason") {
  World world;
  StdioCall& call = world.sent();
  world.cancels.cancel(call, "enough");
  CHECK(world.wire.written.empty());
  CHECK(world.cancels.is_owed());
  CHECK(world.counter.sum == 0);  // its place is free at once
  world.turn();
  world.turn();
  REQUIRE(world.wire.written.size() == 1);
  auto told = parse(world.wire.written[0]);
  CHECK(told.method() == "notifications/cancelled");
  CHECK(told.raw(mcp::Field::params_request_id) == "1");
  CHECK(told.text(mcp::Field::params_reason) == "enough");
  CHECK_FALSE(world.cancels.is_owed());
  CHECK(world.calls.find(call.id) != nullptr);
}

TEST_CASE("what was answered in the same turn is over, and not cancelled; its questions are refused") {
  World world;
  StdioCall& call = world.sent();
  call.message(parse(R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create"})"));
  world.cancels.cancel(call, "enough");
  PendingCall entry = world.calls.take(*world.calls.find(call.id));
  world.cancels.late_answer(entry, parse(kResult));
  world.turn();
  REQUIRE(world.wire.written.size() == 1);
  CHECK(parse(world.wire.written[0]).raw(mcp::Field::id) == R"("q")");
  CHECK(parse(world.wire.written[0]).kind() == mcp::MessageKind::error);
  CHECK(world.watcher.settled ==
        std::vector<Cancels::Settled>{{100, CancelOutcome::raced, CancelTold::nothing}});
}

TEST_CASE("a server is told of a cancel first, and then that what it asked has no answer") {
  World world;
  StdioCall& call = world.sent();
  call.message(parse(R"({"jsonrpc":"2.0","id":7,"method":"roots/list"})"));
  world.cancels.cancel(call, "enough");
  world.cancels.write_now();
  REQUIRE(world.wire.written.size() == 2);
  CHECK(parse(world.wire.written[0]).method() == "notifications/cancelled");
  CHECK(parse(world.wire.written[1]).raw(mcp::Field::id) == "7");
}

TEST_CASE("a late answer says whether the server stopped; each is counted once") {
  struct Way {
    const char* answer;
    bool listen;
    CancelOutcome outcome;
  };
  for (const Way& way :
       {Way{kResult, false, CancelOutcome::raced}, Way{kResult, true, CancelOutcome::stopped},
        Way{R"({"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"x"}})", false, CancelOutcome::stopped},
        Way{R"({"jsonrpc":"2.0","id":1,"result":{"isError":true}})", false, CancelOutcome::stopped}}) {
    INFO(way.answer);
    World world(kSoonOver);
    const uint64_t late = world.watcher.stats.late_responses;
    StdioCall& call = world.sent();
    world.calls.find(call.id)->listen = way.listen;
    world.cancels.cancel(call, "enough");
    world.turn();
    PendingCall entry = world.calls.take(*world.calls.find(call.id));
    world.cancels.late_answer(entry, parse(way.answer));
    CHECK(world.watcher.settled ==
          std::vector<Cancels::Settled>{{100, way.outcome, CancelTold::notification}});
    CHECK(world.watcher.stats.late_responses == late + 1);
    world.graces();
    CHECK(world.watcher.settled.size() == 1);
  }
}

TEST_CASE("without an answer the id is forgotten after the grace, and the process lives on") {
  World world(kSoonOver);
  StdioCall& call = world.sent();
  world.cancels.cancel(call, "enough");
  world.turn();
  world.graces();
  CHECK(world.calls.find(call.id) == nullptr);
  CHECK_FALSE(world.wire.stopped);
  CHECK(world.watcher.settled ==
        std::vector<Cancels::Settled>{{100, CancelOutcome::ignored, CancelTold::notification}});
  CHECK(world.counter.sum == 0);
}

TEST_CASE("the grace of a cancel that the server has not read yet begins again while it reads, ten times") {
  // So that a machine that stands still for a while does not use up all of them.
  constexpr milliseconds kGrace{100};
  World world(kGrace);
  net::Timer reads(world.stdio.loop);
  std::function<void()> read = [&] {
    ++world.wire.has_taken;
    reads.start(milliseconds(1), read);
  };
  read();  // before the cancel: its grace may be over in the next turn of a machine that stood still
  const milliseconds begun = world.stdio.loop.now();
  StdioCall& call = world.cancelled_unread();
  run_for(world.stdio.loop, 3 * kGrace);
  CHECK(world.calls.find(call.id) != nullptr);
  SECTION("until it has read all") {
    world.wire.owed = 0;
    world.wait_until([&] { return world.calls.find(call.id) == nullptr; });
  }
  SECTION("and no longer") {
    world.wait_until([&] { return world.calls.find(call.id) == nullptr; });
    CHECK(world.stdio.loop.now() - begun >= 11 * kGrace);
  }
  CHECK(world.calls.find(call.id) == nullptr);
}

TEST_CASE("a server that reads nothing has the one grace of a cancel, and no longer") {
  World world(kSoonOver);
  StdioCall& call = world.cancelled_unread();
  world.graces();
  CHECK(world.calls.find(call.id) == nullptr);
  CHECK(world.wire.freed == 1);
}

TEST_CASE(
    "a grace that a reload made shorter counts for what is cancelled then, not behind those of before") {
  World world(milliseconds(600000));
  StdioCall& before = world.sent();
  StdioCall& after = world.sent();
  world.cancels.cancel(before, "enough");
  world.stdio.server.timeouts.cancel_grace = kSoonOver;
  world.cancels.cancel(after, "enough");
  world.turn();
  world.wait_until([&] { return world.calls.find(after.id) == nullptr; });
  CHECK(world.calls.find(before.id) != nullptr);
}

TEST_CASE(
    "cancel: kill ends a process that ignores a client's cancel, and never for Lineward's own request") {
  World world(kSoonOver);
  world.stdio.server.cancel = config::CancelMode::kill;
  SECTION("a client's") {
    world.cancels.cancel(world.sent(), "enough");
    world.turn();
    world.wait_until([&] { return world.wire.stopped.has_value(); });
    CHECK_FALSE(world.wire.stopped->counts);
  }
  SECTION("Lineward's own") {
    PendingCall entry;
    entry.own = true;
    const int64_t id = world.calls.add(std::move(entry));
    world.cancels.cancel_own(id);
    CHECK(world.wire.written.size() == 1);
    world.graces();
    CHECK_FALSE(world.wire.stopped);
    CHECK(world.calls.find(id) == nullptr);
  }
}

TEST_CASE("neither with cancel: never nor of an initialize is the server told") {
  World world(kSoonOver);
  std::string_view method = "tools/call";
  SECTION("never") {
    world.stdio.server.cancel = config::CancelMode::never;
    PendingCall entry;
    entry.own = true;
    world.cancels.cancel_own(world.calls.add(std::move(entry)));
  }
  SECTION("initialize") {
    method = "initialize";
  }
  StdioCall& call = world.sent(method);
  call.message(parse(R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})"));
  world.cancels.cancel(call, "enough");
  CHECK_FALSE(world.cancels.is_owed());
  world.turn();
  // It waits for an answer to what it asked all the same.
  REQUIRE(world.wire.written.size() == 1);
  CHECK(parse(world.wire.written[0]).raw(mcp::Field::id) == R"("q")");
  world.graces();
  CHECK(world.watcher.settled ==
        std::vector<Cancels::Settled>{{100, CancelOutcome::ignored, CancelTold::nothing}});
}

TEST_CASE("a client's reason is passed on up to a bound") {
  World world;
  world.cancels.cancel(world.sent(), std::string(5000, 'x'));
  world.cancels.write_now();
  REQUIRE(world.wire.written.size() == 1);
  CHECK(parse(world.wire.written[0]).text(mcp::Field::params_reason) == std::string(1024, 'x'));
}

TEST_CASE("of a process that is down nothing more is told") {
  World world;
  world.cancels.cancel(world.sent(), "enough");
  world.cancels.clear();
  CHECK_FALSE(world.cancels.is_owed());
  run_for(world.stdio.loop, 3 * kSoonOver);
  CHECK(world.wire.written.empty());
  CHECK(world.wire.freed == 0);
  CHECK(world.watcher.settled.empty());
}
