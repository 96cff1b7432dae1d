#include "proxy/upstream/stdio/stdio_instance.h"

#include <fcntl.h>

#include <csignal>
#include <list>

#include "foundation/process/spawn_wire.h"
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
constexpr size_t kPage = 4096;

// A legacy process that has begun to run, with clients' calls. The test reads its stdin, and feeds it lines.
struct World final : InstanceCallbacks {
  // The grace ends in no test but those that wait for its end: this process may stand still for any time.
  explicit World(milliseconds grace = kNeverOver) {
    signal(SIGPIPE, SIG_IGN);
    stdio.server.timeouts.cancel_grace = grace;
    InstancePlan plan;
    plan.era = mcp::Era::legacy;
    instance = std::make_unique<StdioInstance>(stdio.loop, *stdio.spawner, stdio.server, *this, in_flight,
                                               "group", std::move(plan));
    instance->start();
    std::string request;
    REQUIRE(process::spawning::receive_message(stdio.other_end, &request, &fds) > 0);
    REQUIRE(fcntl(fds.at(0).get(), F_SETFL, O_NONBLOCK) == 0);
    process().on_process_started();
    freed = 0;
  }
  ~World() {
    fds.clear();
    instance->stop({mcp::EndReason::cancelled_drain, "the test is over", {}});
    stdio.loop.retire(std::move(instance));
  }

  // InstanceCallbacks
  void on_instance_free(StdioInstance&) override { ++freed; }
  void on_instance_expired(StdioInstance&, std::string_view) override {}
  void on_instance_down(StdioInstance&, const ProcessEnd& end, std::vector<StdioCall*>) override {
    down = end;
  }
  void on_instance_gone(StdioInstance&) override {}

  ProcessCallbacks& process() { return *instance; }
  void hears(std::string line) { process().on_process_line(json::Text{std::move(line), nullptr}); }
  StdioCall& sent(std::string_view method = "tools/call", const std::string& params = "{}") {
    core::UpstreamRequest request =
        request_of(mcp::Era::legacy, R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) +
                                         R"(","params":)" + params + "}");
    request.tag = 100 + made.size();
    StdioCall& one = made.emplace_back(stdio.made(), std::move(request), asker);
    instance->send(one);
    return one;
  }
  PendingCall* pending(const StdioCall& call) { return instance->calls().find(call.id); }
  // Ends this turn, at which queued bytes are written.
  void turn() {
    stdio.loop.defer([this] { stdio.loop.stop(); });
    stdio.loop.run();
  }
  size_t reads() {
    char block[kPage];
    const ssize_t n = read(fds[0].get(), block, sizeof block);
    if (n > 0) unread.append(block, static_cast<size_t>(n));
    return n > 0 ? static_cast<size_t>(n) : 0;
  }
  // Messages written to it, without requests.
  std::vector<mcp::Message>& told() {
    while (reads() > 0) {
    }
    for (size_t end = 0; (end = unread.find('\n')) != std::string::npos; unread.erase(0, end + 1)) {
      auto message = parse(unread.substr(0, end));
      if (message.kind() != mcp::MessageKind::request) written.push_back(std::move(message));
    }
    return written;
  }
  // Cancelled, and the server is behind with reading.
  StdioCall& cancelled_unread(size_t size = 1 << 20) {
    StdioCall& call = sent("tools/call", R"({"text":")" + std::string(size, 'x') + R"("})");
    turn();
    call.cancel("enough");
    turn();
    return call;
  }
  // Until the graces that run are over.
  void graces() {
    freed = 0;
    wait_until([&] { return freed > 0; });
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
  size_t in_flight = 0;
  int freed = 0;
  std::optional<ProcessEnd> down;
  std::unique_ptr<StdioInstance> instance;
  std::vector<process::spawning::OwnedFd> fds;
  std::string unread;
  std::vector<mcp::Message> written;
  std::list<StdioCall> made;
};

std::string answer_to(const StdioCall& call, const std::string& rest = R"("result":{})") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(call.id) + ',' + rest + '}';
}

}  // namespace

TEST_CASE("a cancel is told at the end of the turn, once, with the server's id and the reason") {
  World world;
  StdioCall& call = world.sent();
  world.turn();
  CHECK(world.in_flight == 1);
  call.cancel("enough");
  CHECK(world.told().empty());
  CHECK(world.in_flight == 0);  // its place is free at once
  world.turn();
  world.turn();
  REQUIRE(world.told().size() == 1);
  auto& told = world.written[0];
  CHECK(told.method() == "notifications/cancelled");
  CHECK(told.raw(mcp::Field::params_request_id) == "1");
  CHECK(told.text(mcp::Field::params_reason) == "enough");
  CHECK(world.pending(call) != nullptr);
}

TEST_CASE("what was answered in the same turn is over, and not cancelled; its questions are refused") {
  World world;
  StdioCall& call = world.sent();
  call.message(parse(R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create"})"));
  call.cancel("enough");
  world.hears(answer_to(call));
  world.turn();
  REQUIRE(world.told().size() == 1);
  CHECK(world.written[0].raw(mcp::Field::id) == R"("q")");
  CHECK(world.written[0].kind() == mcp::MessageKind::error);
  CHECK(world.watcher.settled ==
        std::vector<Cancels::Settled>{{100, CancelOutcome::raced, CancelTold::nothing}});
}

TEST_CASE("a server is told of a cancel first, and then that what it asked has no answer") {
  World world;
  StdioCall& call = world.sent();
  call.message(parse(R"({"jsonrpc":"2.0","id":7,"method":"roots/list"})"));
  call.cancel("enough");
  SECTION("at the end of the turn") {}
  SECTION("before the answer to another of its requests") {
    world.hears(R"({"jsonrpc":"2.0","id":8,"method":"ping"})");
  }
  world.turn();
  REQUIRE(world.told().size() >= 2);
  CHECK(world.written[0].method() == "notifications/cancelled");
  CHECK(world.written[1].raw(mcp::Field::id) == "7");
}

TEST_CASE("a late answer says whether the server stopped; each is counted once") {
  struct Way {
    const char* answer;
    bool listen;
    CancelOutcome outcome;
  };
  for (const Way& way : {Way{R"("result":{})", false, CancelOutcome::raced},
                         Way{R"("result":{})", true, CancelOutcome::stopped},
                         Way{R"("error":{"code":0,"message":"x"})", false, CancelOutcome::stopped},
                         Way{R"("result":{"isError":true})", false, CancelOutcome::stopped}}) {
    INFO(way.answer);
    World world(kSoonOver);
    const uint64_t late = world.watcher.stats.late_responses;
    StdioCall& call = world.sent();
    if (way.listen) world.pending(call)->listen = PendingCall::Listen::asked;
    call.cancel("enough");
    world.turn();
    world.hears(answer_to(call, way.answer));
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
  call.cancel("enough");
  world.turn();
  world.graces();
  CHECK(world.pending(call) == nullptr);
  CHECK_FALSE(world.down);
  CHECK(world.watcher.settled ==
        std::vector<Cancels::Settled>{{100, CancelOutcome::ignored, CancelTold::notification}});
  CHECK(world.in_flight == 0);
}

TEST_CASE("the grace of a cancel that the server has not read yet begins again while it reads, ten times") {
  // So that a machine that stands still for a while does not use up all of them.
  constexpr milliseconds kGrace{100};
  World world(kGrace);
  REQUIRE(fcntl(world.fds[0].get(), F_SETPIPE_SZ, kPage) == kPage);
  net::Timer reads(world.stdio.loop);
  bool reads_all = false;
  std::function<void()> read = [&] {
    while (world.reads() > 0 && reads_all) {
    }
    world.unread.clear();
    reads.start(milliseconds(1), read);
  };
  read();  // before the cancel: its grace may end in the next turn of a slow machine
  const milliseconds begun = world.stdio.loop.now();
  StdioCall& call = world.cancelled_unread(16 << 20);
  run_for(world.stdio.loop, 3 * kGrace);
  CHECK(world.pending(call) != nullptr);
  SECTION("until it has read all") {
    reads_all = true;
    world.wait_until([&] { return world.pending(call) == nullptr; });
  }
  SECTION("and no longer") {
    world.wait_until([&] { return world.pending(call) == nullptr; });
    CHECK(world.stdio.loop.now() - begun >= 11 * kGrace);
  }
  CHECK(world.pending(call) == nullptr);
}

TEST_CASE("a server that reads nothing has the one grace of a cancel, and no longer") {
  World world(kSoonOver);
  StdioCall& call = world.cancelled_unread();
  world.graces();
  CHECK(world.pending(call) == nullptr);
  CHECK(world.freed == 1);
}

TEST_CASE(
    "a grace that a reload made shorter counts for what is cancelled then, not behind those of before") {
  World world(milliseconds(600000));
  StdioCall& before = world.sent();
  StdioCall& after = world.sent();
  before.cancel("enough");
  world.stdio.server.timeouts.cancel_grace = kSoonOver;
  after.cancel("enough");
  world.turn();
  world.wait_until([&] { return world.pending(after) == nullptr; });
  CHECK(world.pending(before) != nullptr);
}

TEST_CASE(
    "cancel: kill ends a process that ignores a client's cancel, and never for Lineward's own request") {
  World world(kSoonOver);
  world.stdio.server.cancel = config::CancelMode::kill;
  SECTION("a client's") {
    world.sent().cancel("enough");
    world.turn();
    world.wait_until([&] { return world.down.has_value(); });
    CHECK_FALSE(world.down->counts);
  }
  SECTION("Lineward's own") {
    world.stdio.server.timeouts.request = milliseconds(1);
    int answered = 0;
    world.instance->send_own("ping", "{}", [&](const mcp::Message&) { ++answered; });
    world.wait_until([&] { return answered > 0; });
    world.turn();
    CHECK(world.told().size() == 1);
    world.graces();
    CHECK_FALSE(world.down);
    CHECK(world.instance->calls().all().empty());
    CHECK(answered == 1);
  }
}

TEST_CASE("neither with cancel: never nor of an initialize is the server told") {
  World world(kSoonOver);
  std::string_view method = "tools/call";
  SECTION("never") {
    world.stdio.server.cancel = config::CancelMode::never;
    world.stdio.server.timeouts.request = milliseconds(1);
    int answered = 0;
    world.instance->send_own("ping", "{}", [&](const mcp::Message&) { ++answered; });
    world.wait_until([&] { return answered > 0; });
  }
  SECTION("initialize") {
    method = "initialize";
  }
  StdioCall& call = world.sent(method);
  call.message(parse(R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})"));
  call.cancel("enough");
  world.turn();
  // It waits for an answer to what it asked all the same.
  REQUIRE(world.told().size() == 1);
  CHECK(world.written[0].raw(mcp::Field::id) == R"("q")");
  world.wait_until([&] { return world.pending(call) == nullptr; });
  CHECK(world.watcher.settled ==
        std::vector<Cancels::Settled>{{100, CancelOutcome::ignored, CancelTold::nothing}});
}

TEST_CASE("a client's reason is passed on up to a bound") {
  World world;
  world.sent().cancel(std::string(5000, 'x'));
  world.turn();
  REQUIRE(world.told().size() == 1);
  CHECK(world.written[0].text(mcp::Field::params_reason) == std::string(1024, 'x'));
}

TEST_CASE("of a process that is down nothing more is told") {
  World world;
  StdioCall& call = world.sent();
  world.turn();
  call.cancel("enough");
  world.process().on_process_down({});
  world.freed = 0;
  CHECK(world.watcher.settled ==
        std::vector<Cancels::Settled>{{100, CancelOutcome::stopped, CancelTold::process_ended}});
  run_for(world.stdio.loop, 3 * kSoonOver);
  CHECK(world.told().empty());
  CHECK(world.freed == 0);
  CHECK(world.watcher.settled.size() == 1);
}
