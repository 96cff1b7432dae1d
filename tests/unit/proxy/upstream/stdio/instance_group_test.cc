#include "proxy/upstream/stdio/instance_group.h"

#include <fcntl.h>

#include <functional>
#include <map>

#include "config/forward_rules.h"
#include "foundation/process/spawn_wire.h"
#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;
using core::CallPhase;
using mcp::EndReason;
namespace spawning = process::spawning;

namespace {

// A command as its own side sees it: what it is written, and the pipes that it answers through.
struct FakeProcess {
  std::vector<std::string> environment;
  std::vector<spawning::OwnedFd> fds;
  std::string unread;
  std::vector<std::string> heard;  // requests but for the handshake's
  bool running = true;
};

CallerGroup of_modern(uint32_t most) {
  CallerGroup plan;
  plan.key = "all";
  plan.most = most;
  return plan;
}

// Modern clients on a server that is taken for a legacy one.
CallerGroup of_legacy() {
  CallerGroup plan;
  plan.key = "old";
  plan.era = mcp::Era::legacy;
  plan.initialize_params = "{}";
  return plan;
}

// The same, with callers that accept server requests.
CallerGroup of_exclusive() {
  CallerGroup plan = of_legacy();
  plan.exclusive = true;
  return plan;
}

// The group with its parts, and a spawner that the test controls.
struct GroupWorld final : GroupCallbacks {
  StdioWorld stdio;
  StdioHealth its_health{stdio.loop, stdio.server, [](const core::Failure&) {}};
  std::map<uint64_t, FakeProcess> processes;
  std::vector<std::unique_ptr<StdioInstance>> leaving;
  size_t calls_in_flight = 0;
  bool room = true;
  int lost = 0;
  bool answers_handshake = true;
  bool doubts_era = false;
  std::vector<StdioCall*> doubted;
  std::unique_ptr<InstanceGroup> group;
  net::Lifetime lifetime;

  explicit GroupWorld(uint32_t most = 1) : GroupWorld(of_modern(most)) {}
  explicit GroupWorld(CallerGroup plan) {
    stdio.server.restart.backoff = stdio.server.restart.max_backoff = std::chrono::milliseconds(50);
    group = std::make_unique<InstanceGroup>(stdio.loop, *stdio.spawner, stdio.server, *this, std::move(plan));
  }
  ~GroupWorld() {
    group->close("the test is over");
    for (auto& [id, process] : processes) {
      if (process.running) die(id);
    }
    CHECK(wait_for([&] { return leaving.empty(); }));
    group.reset();
  }

  // GroupCallbacks
  StdioHealth& health() override { return its_health; }
  Room room_for_instance(const InstanceGroup&, const Account*) override {
    return room ? Room::there : Room::none;
  }
  bool capacity_pending() const override { return false; }
  bool is_of_other_era(InstanceGroup&, const mcp::Message&) override { return false; }
  bool serves_as_modern(InstanceGroup&, const ProcessEnd&) override { return false; }
  std::unique_ptr<StdioInstance> take_spare(const InstanceGroup&, const Account*) override { return nullptr; }
  void start_failed(const ProcessEnd&, std::deque<StdioCall*>& refused) override {
    doubted.insert(doubted.end(), refused.begin(), refused.end());
    if (doubts_era) refused.clear();
  }
  size_t& in_flight() override { return calls_in_flight; }
  bool stopping() const override { return false; }
  void schedule_pump() override {
    stdio.loop.defer(lifetime, [this] { group->pump(); });
  }
  void schedule_pump(InstanceGroup&) override { schedule_pump(); }
  void take_leaving(std::unique_ptr<StdioInstance> instance) override {
    leaving.push_back(std::move(instance));
  }
  void instance_gone(StdioInstance& instance) override {
    for (auto& one : leaving) {
      if (one.get() == &instance) stdio.loop.retire(std::move(one));
    }
    std::erase(leaving, nullptr);
  }
  void instance_lost() override { ++lost; }
  void group_served(InstanceGroup&) override {}

  // The spawner's side.
  void reply(spawning::Reply reply) {
    REQUIRE(spawning::send_message(stdio.other_end, spawning::encode(reply)) > 0);
  }
  void die(uint64_t id) {
    processes.at(id).running = false;
    processes.at(id).fds.clear();
    spawning::Reply said;
    said.id = id;
    said.kind = spawning::Reply::Kind::exited;
    said.status.code = 3;
    reply(said);
    said.kind = spawning::Reply::Kind::gone;
    reply(said);
  }
  void serve() {
    std::string bytes;
    std::vector<spawning::OwnedFd> fds;
    while (spawning::receive_message(stdio.other_end, &bytes, &fds) > 0) {
      spawning::Request request;
      REQUIRE(spawning::decode(bytes, &request));
      if (request.kind == spawning::Request::Kind::spawn) {
        processes[request.id].environment = environment_in(fds);
        processes[request.id].fds = std::move(fds);
        REQUIRE(fcntl(processes[request.id].fds.at(0).get(), F_SETFL, O_NONBLOCK) == 0);
        spawning::Reply started;
        started.kind = spawning::Reply::Kind::started;
        started.id = request.id;
        started.pid = static_cast<pid_t>(1000000000 + request.id);
        reply(started);
      } else if (processes.at(request.id).running) {
        die(request.id);
      }
      fds.clear();
    }
    for (auto& [id, process] : processes) {
      if (process.running) listen(id, process);
    }
  }
  void listen(uint64_t id, FakeProcess& process) {
    char block[4096];
    ssize_t n = 0;
    while ((n = read(process.fds[0].get(), block, sizeof block)) > 0)
      process.unread.append(block, static_cast<size_t>(n));
    for (size_t end = 0; (end = process.unread.find('\n')) != std::string::npos;) {
      std::string line = process.unread.substr(0, end);
      process.unread.erase(0, end + 1);
      if (line.find("server/discover") == std::string::npos) {
        process.heard.push_back(std::move(line));
      } else if (answers_handshake) {
        answer(id, line);
      }
    }
    if (n == 0) die(id);  // its input has ended
  }
  void answer(uint64_t id, const std::string& request) {
    const std::string text = R"({"jsonrpc":"2.0","id":)" + std::string(parse(request).raw(mcp::Field::id)) +
                             R"(,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}})" + "\n";
    REQUIRE(write(processes.at(id).fds.at(1).get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
  }
  void write_line(uint64_t id, const std::string& text) {
    REQUIRE(write(processes.at(id).fds.at(1).get(), (text + "\n").data(), text.size() + 1) ==
            static_cast<ssize_t>(text.size() + 1));
  }
  void result(uint64_t id, size_t at, const std::string& result) {
    write_line(id, R"({"jsonrpc":"2.0","id":)" +
                       std::string(parse(processes.at(id).heard.at(at)).raw(mcp::Field::id)) +
                       R"(,"result":)" + result + "}");
  }
  // Its first process has done its handshake and been pinged: the next line that it hears is its fourth.
  void get_ready() {
    REQUIRE(wait_for([&] { return heard(1) == 1; }));
    result(1, 0,
           R"({"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}})");
    REQUIRE(wait_for([&] { return heard(1) == 3; }));
    result(1, 2, "{}");
    REQUIRE(wait_for([&] { return heard(1) == 4; }));
  }
  // Until it is so; the limit is for tests that fail.
  template <class Done>
  bool wait_for(Done done) {
    for (int i = 0; i < 3000; ++i) {
      run_for(stdio.loop);
      serve();
      if (done()) return true;
    }
    return false;
  }
  // Its first process hears `initialize`, and knows no such method.
  void refuse_initialize() {
    REQUIRE(wait_for([&] { return heard(1) == 1; }));
    const std::string text = R"({"jsonrpc":"2.0","id":)" +
                             std::string(parse(processes[1].heard[0]).raw(mcp::Field::id)) +
                             R"(,"error":{"code":-32601,"message":"none"}})" + "\n";
    REQUIRE(write(processes[1].fds.at(1).get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
  }
  size_t heard(uint64_t id) { return processes.count(id) == 0 ? 0 : processes.at(id).heard.size(); }
  bool says(uint64_t id, size_t at, const std::string& tool) {
    return processes.at(id).heard.at(at).find('"' + tool + '"') != std::string::npos;
  }
};

struct Called {
  Asker asker;
  StdioCall call;
  Called(GroupWorld& world, const std::string& tool, const std::string& method = "tools/call")
      : call(world.stdio.call(request_of(mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":")" + method +
                                                               R"(","params":{"name":")" + tool + R"("}})"),
                              asker)) {
    world.group->enqueue(call);
  }
};

}  // namespace

TEST_CASE("calls wait for their process, and are written in the order in which they came") {
  GroupWorld world;
  world.answers_handshake = false;
  Called a(world, "a"), b(world, "b"), c(world, "c");
  REQUIRE(world.wait_for([&] { return world.processes.size() == 1; }));
  CHECK(a.asker.phases.back() == CallPhase::starting);
  CHECK(c.asker.phases.back() == CallPhase::starting);
  world.group->withdraw(b.call);
  world.answers_handshake = true;
  world.die(1);
  REQUIRE(world.wait_for([&] { return a.asker.failed.has_value(); }));
  CHECK(c.asker.failed);  // all calls that waited for a failed start
  CHECK_FALSE(b.asker.failed);
  world.group->enqueue(b.call);
  Called d(world, "d");
  REQUIRE(world.wait_for([&] { return world.heard(2) == 2; }));
  CHECK(world.says(2, 0, "b"));
  CHECK(world.says(2, 1, "d"));
  CHECK(d.asker.phases.back() == CallPhase::written);
  world.answer(2, world.processes[2].heard[1]);
  REQUIRE(world.wait_for([&] { return d.asker.heard.size() == 1; }));
  CHECK(b.asker.heard.empty());
  world.answer(2, world.processes[2].heard[0]);
  REQUIRE(world.wait_for([&] { return b.asker.heard.size() == 1; }));
}

TEST_CASE("no more calls are in flight than may be, and the next goes when one is answered") {
  GroupWorld world;
  world.stdio.server.limits.max_in_flight = 1;
  Called a(world, "a"), b(world, "b");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 1; }));
  CHECK(world.says(1, 0, "a"));
  CHECK(b.asker.phases.back() == CallPhase::queued);
  CHECK(world.calls_in_flight == 1);
  world.answer(1, world.processes[1].heard[0]);
  REQUIRE(world.wait_for([&] { return world.heard(1) == 2; }));
  CHECK(world.says(1, 1, "b"));
  CHECK(a.asker.heard.size() == 1);
  world.answer(1, world.processes[1].heard[1]);
  REQUIRE(world.wait_for([&] { return b.asker.heard.size() == 1; }));
  CHECK(world.calls_in_flight == 0);
}

TEST_CASE("a process that dies takes its calls with it, and the queued go on with the next") {
  GroupWorld world;
  world.stdio.server.limits.max_in_flight = 1;
  Called first(world, "first");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 1; }));
  world.answer(1, world.processes[1].heard[0]);
  REQUIRE(world.wait_for([&] { return first.asker.heard.size() == 1; }));
  Called a(world, "a"), b(world, "b");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 2; }));
  world.die(1);
  REQUIRE(world.wait_for([&] { return world.heard(2) == 1; }));
  REQUIRE(a.asker.failed);
  CHECK(a.asker.failed->reason == EndReason::upstream_exited);
  CHECK(a.asker.failed->text.find("exited with code 3") != std::string::npos);
  CHECK_FALSE(b.asker.failed);
  CHECK(world.says(2, 0, "b"));
  CHECK(world.lost == 1);
  world.answer(2, world.processes[2].heard[0]);
  REQUIRE(world.wait_for([&] { return b.asker.heard.size() == 1; }));
}

TEST_CASE("after a start that came to nothing the next has to wait") {
  GroupWorld world;
  world.answers_handshake = false;
  Called a(world, "a");
  REQUIRE(world.wait_for([&] { return world.processes.size() == 1; }));
  const auto since = world.stdio.loop.now();
  world.die(1);
  REQUIRE(world.wait_for([&] { return a.asker.failed.has_value(); }));
  world.answers_handshake = true;
  Called b(world, "b");
  REQUIRE(world.wait_for([&] { return world.heard(2) == 1; }));
  // The rest of the pause depends on the machine; it began after its process had died.
  CHECK(world.stdio.loop.now() - since >= world.stdio.server.restart.backoff * 8 / 10);
  world.answer(2, world.processes[2].heard[0]);
  REQUIRE(world.wait_for([&] { return b.asker.heard.size() == 1; }));
}

TEST_CASE("the next process has what the newest request of its caller says, and no more") {
  GroupWorld world;
  world.stdio.server.restart.backoff = world.stdio.server.restart.max_backoff = std::chrono::milliseconds(0);
  const std::string user = "\x01principal.subject\x02", group =
                                                            "\x01"
                                                            "claim:group\x02";
  world.stdio.server.identity.env = {{"USER_ID", user}, {"TEAM", group}};
  using Fields = core::HeaderFields;
  const auto say = [&](const Fields& headers, bool of_client) {
    core::UpstreamRequest request = request_of(
        mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}})");
    request.headers = headers;
    if (of_client) request.from = std::make_shared<const core::ClientRequest>();
    Asker asker;
    StdioCall call = world.stdio.call(std::move(request), asker);
    world.group->enqueue(call);
    const size_t before = world.processes.size();
    REQUIRE(world.wait_for([&] { return world.processes.size() > before && world.heard(before + 1) == 1; }));
    world.die(before + 1);
    REQUIRE(world.wait_for([&] { return asker.failed.has_value(); }));
    std::vector<std::string> said;
    for (const std::string& one : world.processes.at(before + 1).environment) {
      if (one.rfind("USER_ID=", 0) == 0 || one.rfind("TEAM=", 0) == 0) said.push_back(one);
    }
    return said;
  };
  using Texts = std::vector<std::string>;
  const std::string mark(1, config::kIdentityMark);
  CHECK(say({{mark + user, "alice"}, {mark + group, "ops"}}, true) == Texts{"USER_ID=alice", "TEAM=ops"});
  CHECK(say({}, false) == Texts{"USER_ID=alice", "TEAM=ops"});  // Lineward's own
  CHECK(say({{mark + user, "alice"}}, true) == Texts{"USER_ID=alice"});
  CHECK(say({{mark + user, "alice"}, {mark + group, "ops"}}, false) == Texts{"USER_ID=alice"});
  CHECK(say({}, true).empty());
}

TEST_CASE("an expired process finishes its calls, gets no more, and goes") {
  GroupWorld world(2);
  Called a(world, "a");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 1; }));
  world.answer(1, world.processes[1].heard[0]);
  REQUIRE(world.wait_for([&] { return a.asker.heard.size() == 1; }));
  REQUIRE(world.group->processes().size() == 1);
  StdioInstance* old = world.group->processes().front().get();
  Called b(world, "b");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 2; }));
  world.group->on_instance_expired(*old, "is old");
  Called c(world, "c");
  REQUIRE(world.wait_for([&] { return world.heard(2) == 1; }));
  CHECK(world.says(2, 0, "c"));
  CHECK(world.processes[1].running);
  CHECK(world.group->instances() == 2);
  world.answer(1, world.processes[1].heard[1]);
  REQUIRE(world.wait_for([&] { return !world.processes[1].running; }));
  CHECK(b.asker.heard.size() == 1);
  CHECK(world.group->instances() == 1);
  CHECK(world.lost == 0);  // it was told to go
  world.answer(2, world.processes[2].heard[0]);
  REQUIRE(world.wait_for([&] { return c.asker.heard.size() == 1; }));
}

TEST_CASE("an expired process that only a listen needs is replaced at most once a second") {
  GroupWorld world(3);
  Called listen(world, "all", "subscriptions/listen");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 1; }));
  auto expires = [&] {
    world.group->on_instance_expired(*world.group->processes().back(), "is old");
    return world.stdio.loop.now();
  };
  const auto since = expires();
  REQUIRE(world.wait_for([&] { return world.heard(2) == 1; }));  // the listen has moved
  REQUIRE(world.wait_for([&] { return !world.processes[1].running; }));
  expires();
  REQUIRE(world.wait_for([&] { return world.heard(3) == 1; }));
  CHECK(world.stdio.loop.now() - since >= std::chrono::milliseconds(1000));
  CHECK(world.processes.size() == 3);
  CHECK(world.lost == 0);
  world.answer(3, world.processes[3].heard[0]);
  REQUIRE(world.wait_for([&] { return listen.asker.over(); }));
}

TEST_CASE("without room for a process its callers are told so, and the group's end ends them") {
  GroupWorld world;
  world.room = false;
  Called a(world, "a");
  REQUIRE(world.wait_for([&] { return !a.asker.phases.empty(); }));
  CHECK(a.asker.phases.back() == CallPhase::at_capacity);
  CHECK(world.processes.empty());
  world.group->close("its upstream ends");
  REQUIRE(a.asker.failed);
  CHECK(a.asker.failed->reason == EndReason::cancelled_drain);
}

TEST_CASE("where processes are exclusive a server that asks after its answers has them kept apart") {
  GroupWorld world(of_exclusive());
  const auto grace = world.stdio.server.timeouts.cancel_grace = std::chrono::milliseconds(500);
  Called a(world, "a");
  world.get_ready();
  const auto since = world.stdio.loop.now();
  world.result(1, 3, "{}");
  REQUIRE(world.wait_for([&] { return a.asker.heard.size() == 1; }));
  world.write_line(1, R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}})");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 5; }));
  CHECK(parse(world.processes[1].heard[4]).kind() == mcp::MessageKind::error);
  Called b(world, "b");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 6; }));
  CHECK(world.says(1, 5, "b"));
  CHECK(world.stdio.loop.now() - since >= grace);
  world.result(1, 5, "{}");
  REQUIRE(world.wait_for([&] { return b.asker.heard.size() == 1; }));
}

TEST_CASE("roots that no call can have asked for are the configuration's") {
  GroupWorld world(of_exclusive());
  world.stdio.server.timeouts.cancel_grace = std::chrono::milliseconds(60000);
  world.stdio.server.roots = {"file:///tmp"};
  Called a(world, "a");
  world.get_ready();
  world.result(1, 3, "{}");
  REQUIRE(world.wait_for([&] { return a.asker.heard.size() == 1; }));
  world.write_line(1, R"({"jsonrpc":"2.0","id":"q","method":"roots/list","params":{}})");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 5; }));
  CHECK(world.processes[1].heard[4].find(R"("uri":"file:///tmp")") != std::string::npos);
  // Its process is not kept apart for it: the next call waits for a ping alone.
  Called b(world, "b");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 6; }));
  world.result(1, 5, "{}");
  REQUIRE(world.wait_for([&] { return world.heard(1) == 7; }));
  CHECK(world.says(1, 6, "b"));
  world.result(1, 6, "{}");
  REQUIRE(world.wait_for([&] { return b.asker.heard.size() == 1; }));
}

TEST_CASE("calls that waited for a process that refused initialize wait for their server's true era") {
  GroupWorld world(of_legacy());
  world.doubts_era = true;
  Called a(world, "a"), b(world, "b");
  world.refuse_initialize();
  REQUIRE(world.wait_for([&] { return world.lost == 1; }));
  CHECK(world.doubted == std::vector<StdioCall*>{&a.call, &b.call});
  CHECK_FALSE(a.asker.failed);
  CHECK_FALSE(b.asker.failed);
  CHECK_FALSE(world.group->wants_pump());  // it has forgotten them
}

TEST_CASE("calls that waited for a process that refused initialize fail where the era is certain") {
  GroupWorld world(of_legacy());
  Called a(world, "a");
  world.refuse_initialize();
  REQUIRE(world.wait_for([&] { return a.asker.failed.has_value(); }));
  CHECK(a.asker.failed->reason == EndReason::upstream_protocol);
  CHECK(world.doubted.size() == 1);
}
