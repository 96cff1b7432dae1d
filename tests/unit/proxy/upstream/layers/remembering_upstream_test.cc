#include "proxy/upstream/layers/remembering_upstream.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "proxy/upstream/layers/listen_hub.h"
#include "proxy/upstream/layers/remembered_changes.h"
#include "unit/proxy/upstream/layers/layers_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;

namespace {

const std::string kOld =
    R"({"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","ttlMs":7,"tools":[{"name":"old"}]}})";
const std::string kNew =
    R"({"jsonrpc":"2.0","id":6,"result":{"resultType":"complete","ttlMs":7,"tools":[{"name":"new"}]}})";
const std::string kRemembered =
    R"({"jsonrpc":"2.0","id":0,"result":{"_meta":{"io.lineward/remembered":true},"resultType":"complete","ttlMs":0,"tools":[{"name":"old"}]}})";
const std::string kChanged = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

struct Scope final : core::ScopeCallbacks {
  std::vector<std::string> heard;
  int ended = 0;
  void on_scope_message(mcp::Message message, std::optional<uint64_t>) override {
    heard.push_back(message.bytes());
  }
  void on_scope_reset() override {}
  void on_scope_ended() override { ++ended; }
};

// The server below, with scopes and what is sent to it.
struct SeenBelow final : core::PassingUpstream {
  explicit SeenBelow(Below& below) : PassingUpstream(std::make_unique<UpstreamBelow>(below)) {}
  void open_scope(const core::Scope&, core::ScopeCallbacks&) override {}
  void close_scope(const core::Scope&) override {}
  void send(const core::Scope&, mcp::Era, const mcp::Message& message, const core::HeaderFields&) override {
    sent.push_back(message.bytes());
  }
  std::vector<std::string> sent;
};

struct World {
  World() {
    char name[] = "/tmp/lineward-remember-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    folder = name;
    config.name = "s";
    config.command = "/bin/true";
    config.remember.directory = folder;
    begin();
  }
  ~World() {
    end();
    std::filesystem::remove_all(folder);
  }
  // A new life.
  void begin() {
    static const char* const kNone[] = {nullptr};
    RememberingUpstream::Transport transport;
    transport.is_running = [this](const core::UpstreamRequest& request) {
      return running || processes.count("modern:" + request.scope.principal) > 0;
    };
    transport.era_for = [this](const core::Scope&) { return era; };
    transport.is_awaited = [this](const std::string& group) { return running || processes.count(group) > 0; };
    transport.assume = [this](const EraVerdict& verdict) { assumed = verdict; };
    transport.doubt = [this] { ++doubts; };
    transport.line = line;
    if (failure_lasts) transport.failure_lasts = *failure_lasts;
    auto seen = std::make_unique<SeenBelow>(below);
    server = seen.get();
    auto made =
        std::make_unique<RememberingUpstream>(loop, std::move(seen), config, kNone, std::move(transport));
    memory = made.get();
    memory->on_changed([this](const mcp::Message& notice) { changes.push_back(notice.bytes()); });
    auto listens = std::make_unique<ListenHub>(loop, std::move(made), config);
    top = std::make_unique<RememberedChanges>(loop, std::move(listens));
    memory->on_described([this] { ++descriptions; });
    memory->use(*top);
  }
  void end() {
    if (!top) return;
    top->stop([] {});
    loop.close_deferred();
    memory = nullptr;
    top.reset();
    loop.close_deferred();
    below.calls.clear();
    running = false;
    processes.clear();
  }
  void again() {
    end();
    begin();
  }
  core::UpstreamRequest request(const std::string& method = "tools/list", const std::string& params = {}) {
    core::UpstreamRequest made;
    made.message = parse(
        R"({"jsonrpc":"2.0","id":1,"method":")" + method +
        R"(","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})" +
        params + "}}");
    made.method = mcp::method_of(method);
    made.scope.principal = "p";
    made.from = std::make_shared<core::ClientRequest>();
    return made;
  }
  core::UpstreamRequest legacy(const std::string& method, const std::string& params = "{}",
                               const std::string& session = "one") {
    core::UpstreamRequest made;
    made.message = parse(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}");
    made.method = mcp::method_of(method);
    made.client_era = mcp::Era::legacy;
    made.scope.principal = "p";
    made.scope.session = session;
    made.from = std::make_shared<core::ClientRequest>();
    return made;
  }
  std::unique_ptr<core::Call> start(core::UpstreamRequest asked, Caller& caller) {
    auto call = top->start(std::move(asked), caller);
    REQUIRE(call);
    loop.close_deferred();
    return std::move(*call);
  }
  // The server is asked, and answers so.
  void learn(core::UpstreamRequest asked, const std::string& answer) {
    Caller caller;
    const size_t before = below.calls.size();
    auto call = start(std::move(asked), caller);
    REQUIRE(below.calls.size() == before + 1);
    below.last().answers(answer);
    REQUIRE(caller.heard == std::vector{answer});
  }
  // The answer from memory; empty: the server was asked for it.
  std::string remembered(core::UpstreamRequest asked) {
    Caller caller;
    auto call = start(std::move(asked), caller);
    const std::string heard = caller.heard.empty() ? std::string() : caller.heard.front();
    if (call->live()) call->cancel("enough");
    loop.close_deferred();
    return heard;
  }

  net::Loop loop;
  config::Server config;
  Below below;
  std::string folder;
  bool running = false;
  std::set<std::string> processes;  // by group
  std::optional<mcp::Era> era = mcp::Era::modern;
  std::optional<EraVerdict> assumed;
  int doubts = 0, descriptions = 0;
  std::optional<std::chrono::milliseconds> failure_lasts;
  std::vector<std::string> changes;
  SeenBelow* server = nullptr;
  process::StartLine* line = nullptr;
  RememberingUpstream* memory = nullptr;
  std::unique_ptr<RememberedChanges> top;
};

constexpr const char* kInit =
    R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}})";
std::string init_result(const std::string& revision = "2025-11-25", const std::string& version = "1") {
  return R"({"jsonrpc":"2.0","id":3,"result":{"protocolVersion":")" + revision +
         R"(","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":")" + version +
         R"("}}})";
}

}  // namespace

TEST_CASE("a list is answered from the last life, and the server is asked behind", "[layers]") {
  World world;
  world.learn(world.request(), kOld);
  world.again();
  CHECK(world.remembered(world.request()) == kRemembered);
  REQUIRE(world.below.calls.size() == 1);
  CHECK(world.below.last().request.of_gateway);
  // A second one shares the check.
  CHECK(world.remembered(world.request()) == kRemembered);
  REQUIRE(world.below.calls.size() == 1);
  world.below.last().answers(kOld);
  CHECK(world.changes.empty());
  world.running = true;
  CHECK(world.remembered(world.request()).empty());
}

namespace {

const std::string kFilter = R"(,"notifications":{"toolsListChanged":true})";
const std::string kAcknowledged =
    R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}})";

// A listen of one client. All callers share one of the server.
struct Listen {
  Listen(World& its_world, const std::string& principal) : world(its_world) {
    auto request = world.request("subscriptions/listen", kFilter);
    request.scope.principal = principal;
    call = world.start(std::move(request), caller);
  }
  ~Listen() {
    if (call->live()) call->cancel("enough");
  }
  std::vector<std::string> heard() {
    world.loop.close_deferred();
    return std::exchange(caller.heard, {});
  }
  World& world;
  Caller caller;
  std::unique_ptr<core::Call> call;
};

core::UpstreamRequest list_of(World& world, const std::string& principal) {
  auto request = world.request();
  request.scope.principal = principal;
  return request;
}

}  // namespace

TEST_CASE("a list that differs is told to each caller that was given it, on shared listens too", "[layers]") {
  World world;
  world.learn(list_of(world, "p"), kOld);
  world.learn(list_of(world, "q"), kOld);
  world.again();
  Listen first(world, "p"), others(world, "r");
  REQUIRE(world.below.calls.size() == 1);
  CHECK(world.remembered(list_of(world, "p")) == kRemembered);
  CHECK(world.remembered(list_of(world, "q")) == kRemembered);
  REQUIRE(world.below.calls.size() == 3);
  world.below.calls[1]->answers(kNew);
  CHECK(first.heard().empty());
  world.below.calls[0]->says(kAcknowledged);
  CHECK(first.heard() == std::vector{kAcknowledged, kChanged});
  CHECK(others.heard() == std::vector{kAcknowledged});
  world.below.calls[2]->answers(kNew);
  CHECK(world.changes == std::vector{kChanged, kChanged});
  CHECK(first.heard().empty());
  CHECK(others.heard().empty());
  // These join it later.
  Listen late(world, "q"), again(world, "q"), firsts_second(world, "p");
  CHECK(world.below.calls.size() == 3);
  CHECK(late.heard() == std::vector{kAcknowledged, kChanged});
  CHECK(again.heard() == std::vector{kAcknowledged, kChanged});
  CHECK(firsts_second.heard() == std::vector{kAcknowledged, kChanged});
}

TEST_CASE("each client of one caller is told of a list that differs", "[layers]") {
  World world;
  world.learn(world.request(), kOld);
  world.again();
  auto first = std::make_unique<Listen>(world, "p");
  world.below.calls[0]->says(kAcknowledged);
  CHECK(world.remembered(world.request()) == kRemembered);
  CHECK(world.remembered(world.request()) == kRemembered);
  world.below.last().answers(kNew);
  CHECK(first->heard() == std::vector{kAcknowledged, kChanged});
  {
    // It ends before the server has acknowledged it.
    auto request =
        world.request("subscriptions/listen", R"(,"notifications":{"toolsListChanged":true,"x":1})");
    Caller caller;
    world.start(std::move(request), caller)->cancel("enough");
  }
  auto promptless = world.request("subscriptions/listen", R"(,"notifications":{"promptsListChanged":true})");
  Caller of_prompts;
  auto prompts = world.start(std::move(promptless), of_prompts);
  // A client of this caller ends, as at a shared gateway.
  core::Scope gone;
  gone.principal = "p";
  gone.affinity = "x";
  world.top->close_scope(gone);
  Listen second(world, "p"), third(world, "p");
  CHECK(second.heard() == std::vector{kAcknowledged, kChanged});
  CHECK(third.heard() == std::vector{kAcknowledged, kChanged});
  prompts->cancel("enough");
}

TEST_CASE("the check of discover alone waits a moment for a reason to start the server", "[layers]") {
  const std::string discovered =
      R"({"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}})";
  process::StartLine line;
  World world;
  world.line = &line;
  world.learn(world.request("server/discover"), discovered);
  world.learn(world.request(), kOld);
  world.again();
  CHECK_FALSE(world.remembered(world.request("server/discover")).empty());
  CHECK(world.below.calls.empty());
  SECTION("a client that leaves starts nothing") {
    world.end();
    CHECK(world.below.calls.empty());
  }
  SECTION("another request needs it at once") {
    CHECK(world.remembered(world.request()) == kRemembered);
    CHECK(world.below.calls.size() == 2);
  }
  SECTION("it is checked without one") {
    net::Timer until(world.loop);
    std::function<void()> look = [&] {
      if (!world.below.calls.empty()) return world.loop.stop();
      until.start(std::chrono::milliseconds(5), look);
    };
    look();
    world.loop.run();
    CHECK(world.below.last().request.method == mcp::Method::server_discover);
  }
}

TEST_CASE("a list is checked before a call that may change it", "[layers]") {
  process::StartLine line;
  std::array<process::StartLine::Turn, 16> others;  // those that may start at once
  for (auto& one : others)
    one.take(line, process::StartLine::Order::first, [] {});
  World world;
  world.line = &line;
  world.learn(world.request(), kOld);
  world.again();
  CHECK(world.remembered(world.request()) == kRemembered);
  CHECK(world.below.calls.empty());
  Caller caller;
  auto call = world.start(world.request("tools/call", R"(,"name":"login")"), caller);
  REQUIRE(world.below.calls.size() == 2);
  CHECK(world.below.calls[0]->request.method == mcp::Method::tools_list);
  CHECK(world.below.calls[1]->request.method == mcp::Method::tools_call);
  call->cancel("enough");
}

TEST_CASE("what may differ between callers is not mixed", "[layers]") {
  World world;
  world.learn(world.request(), kOld);
  world.again();
  auto other = world.request();
  other.scope.principal = "q";
  CHECK(world.remembered(std::move(other)).empty());
  auto bridged = world.request();
  bridged.scope.bridged_session = "one";
  CHECK(world.remembered(std::move(bridged)).empty());
  CHECK(world.remembered(world.request("tools/list", R"(,"cursor":"x")")).empty());
  auto traced = world.request();
  traced.message = parse(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"com.example/user":"ada"}}})");
  CHECK(world.remembered(std::move(traced)).empty());
  auto discovery = world.request();
  discovery.of_gateway = true;
  CHECK(world.remembered(std::move(discovery)).empty());
  CHECK(world.remembered(world.request("tools/list", R"(,"other":1)")).empty());
  CHECK(world.remembered(world.request("prompts/list")).empty());
  // Lineward judges calls by the server's own list.
  auto own = world.request();
  own.from = nullptr;
  CHECK(world.remembered(std::move(own)).empty());
  CHECK_FALSE(world.remembered(world.request()).empty());
}

TEST_CASE("a list after the first call of a process is not learned", "[layers]") {
  World world;
  Scope scope;
  const core::Scope one{"one", "p"};
  world.memory->open_scope(one, scope);
  world.learn(world.legacy("initialize", kInit), init_result());
  const std::string list = R"({"jsonrpc":"2.0","id":4,"result":{"tools":[]}})";
  world.learn(world.legacy("tools/list"), list);
  world.learn(world.legacy("tools/call", R"({"name":"login"})"), list);
  world.learn(world.legacy("tools/list"), R"({"jsonrpc":"2.0","id":4,"result":{"tools":["secret"]}})");
  // Nor is this session answered from memory any more.
  CHECK(world.remembered(world.legacy("tools/list")).empty());
  world.memory->close_scope(one);
  world.again();
  world.memory->open_scope(one, scope);
  REQUIRE_FALSE(world.remembered(world.legacy("initialize", kInit)).empty());
  const std::string kept = world.remembered(world.legacy("tools/list"));
  CHECK(kept.find("remembered") != std::string::npos);
  CHECK(kept.find("secret") == std::string::npos);
  world.memory->close_scope(one);
}

TEST_CASE("a list behind a call that waits for the start is not learned", "[layers]") {
  World world;
  world.learn(world.request(), kOld);
  world.again();
  // No process is ready, but one starts for this call.
  Caller caller;
  auto call = world.start(world.request("tools/call", R"(,"name":"login")"), caller);
  world.processes = {"modern"};
  world.learn(list_of(world, "q"), kNew);
  world.learn(world.request(), kNew);
  call->cancel("enough");
  world.again();
  CHECK(world.remembered(world.request()) == kRemembered);
  CHECK(world.remembered(list_of(world, "q")).empty());
}

TEST_CASE("a list of one caller does not make another caller's process unused", "[layers]") {
  World world;
  world.config.isolation = config::Isolation::principal;
  world.again();
  world.learn(world.request("tools/call", R"(,"name":"login")"), kOld);
  world.processes = {"modern:p"};
  world.learn(list_of(world, "q"), kOld);
  world.learn(list_of(world, "p"), kNew);
  world.again();
  CHECK(world.remembered(list_of(world, "p")).empty());
  CHECK(world.remembered(list_of(world, "q")) == kRemembered);
}

TEST_CASE("callers that share no process of a legacy server learn apart", "[layers]") {
  World world;
  const bool is_known = GENERATE(true, false);
  world.era = is_known ? std::optional(mcp::Era::legacy) : std::nullopt;
  world.learn(world.request("tools/call", R"(,"name":"login")"), kOld);
  world.processes = {"translated:p"};
  world.era = mcp::Era::legacy;
  world.learn(list_of(world, "q"), kOld);
  world.learn(list_of(world, "p"), kNew);
  world.processes.clear();
  world.again();
  CHECK(world.remembered(list_of(world, "p")).empty());
  CHECK(world.remembered(list_of(world, "q")) == kRemembered);
}

TEST_CASE("a version that was replaced leaves the file to its successor", "[layers]") {
  World world;
  world.learn(world.request(), kOld);
  world.memory->notice(core::UpstreamNotice::retired);
  world.running = true;
  world.learn(world.request(), kNew);  // its last calls go on
  world.again();
  CHECK(world.remembered(world.request()) == kRemembered);
}

TEST_CASE("a remembered refusal counts at a modern server only", "[layers]") {
  World world;
  Scope scope;
  const core::Scope one{"one", "p"};
  world.memory->open_scope(one, scope);
  world.learn(world.legacy("initialize", kInit),
              R"({"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}})");
  world.again();
  world.memory->open_scope(one, scope);
  world.below.era.reset();
  CHECK(world.remembered(world.legacy("initialize", kInit)).empty());
  world.below.calls.clear();
  world.below.era = mcp::Era::modern;
  CHECK(world.remembered(world.legacy("initialize", kInit)).find("-32601") != std::string::npos);
  CHECK(world.below.calls.empty());
  world.memory->close_scope(one);
}

TEST_CASE("a page of a list is not learned", "[layers]") {
  World world;
  world.learn(world.request(),
              R"({"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","tools":[],"nextCursor":"2"}})");
  world.again();
  CHECK(world.remembered(world.request()).empty());
}

TEST_CASE("a failed start ends its session", "[layers]") {
  World world;
  Scope scope;
  const core::Scope one{"one", "p"};
  world.memory->open_scope(one, scope);
  world.learn(world.legacy("initialize", kInit), init_result());
  world.again();
  world.memory->open_scope(one, scope);
  REQUIRE_FALSE(world.remembered(world.legacy("initialize", kInit)).empty());
  world.below.last().fails({EndReason::cancelled_drain, "stops"});
  CHECK(scope.ended == 0);
  world.memory->close_scope(one);
  world.memory->open_scope(one, scope);
  REQUIRE_FALSE(world.remembered(world.legacy("initialize", kInit)).empty());
  world.below.last().fails({EndReason::queue_full, "full"});
  CHECK(scope.ended == 1);
  world.memory->close_scope(one);
}

TEST_CASE("state under a name is not remembered", "[layers]") {
  World world;
  world.config.isolation = config::Isolation::session;
  world.again();
  world.learn(world.request(), kOld);
  world.again();
  CHECK(world.remembered(world.request()).empty());
}

TEST_CASE("a failed start ends the use of the memory until the server answers", "[layers]") {
  World world;
  world.learn(world.request(), kOld);
  world.again();
  CHECK_FALSE(world.remembered(world.request()).empty());
  world.below.last().fails({EndReason::upstream_exited, "s exited"});
  Caller caller;
  auto call = world.start(world.request(), caller);
  world.below.last().fails({EndReason::upstream_exited, "s exited"});
  REQUIRE(caller.failed);
  world.learn(world.request(), kOld);
  CHECK_FALSE(world.remembered(world.request()).empty());

  // A refused start is the client's answer.
  world.again();
  world.below.refuses = core::Failure{EndReason::circuit_open, "left alone"};
  Caller refused;
  CHECK_FALSE(world.memory->start(world.request(), refused));
}

TEST_CASE("a failed start counts for the callers of that process", "[layers]") {
  World world;
  const auto isolation = GENERATE(config::Isolation::shared, config::Isolation::principal);
  world.config.isolation = isolation;
  world.again();
  world.learn(list_of(world, "p"), kOld);
  world.learn(list_of(world, "q"), kOld);
  world.again();
  CHECK_FALSE(world.remembered(list_of(world, "p")).empty());
  world.below.last().fails({EndReason::upstream_exited, "s exited"});
  CHECK(world.remembered(list_of(world, "p")).empty());
  CHECK(world.remembered(list_of(world, "q")).empty() == (isolation == config::Isolation::shared));
}

TEST_CASE("the next session of a caller does not begin from memory after a failed start", "[layers]") {
  World world;
  Scope scope;
  const auto open = [&](const std::string& id, const std::string& principal) {
    const core::Scope its{id, principal};
    world.memory->open_scope(its, scope);
    auto request = world.legacy("initialize", kInit, id);
    request.scope.principal = principal;
    return request;
  };
  world.learn(open("one", "p"), init_result());
  world.learn(open("two", "q"), init_result());
  world.learn(world.request(), kOld);
  for (const char* id : {"one", "two"})
    world.memory->close_scope(core::Scope{id, "p"});
  world.again();
  REQUIRE_FALSE(world.remembered(open("three", "p")).empty());
  world.below.last().fails({EndReason::upstream_exited, "s exited"});
  CHECK(scope.ended == 1);
  CHECK(world.remembered(open("four", "p")).empty());
  CHECK_FALSE(world.remembered(open("five", "q")).empty());
  // The process of all modern clients is another one.
  CHECK_FALSE(world.remembered(world.request()).empty());
  for (const char* id : {"three", "four", "five"})
    world.memory->close_scope(core::Scope{id, "p"});
}

TEST_CASE("a failed start is forgotten after a while, and a cancelled one is none", "[layers]") {
  World world;
  world.learn(world.request(), kOld);
  world.failure_lasts = std::chrono::milliseconds(0);
  world.again();
  CHECK_FALSE(world.remembered(world.request()).empty());
  world.below.last().fails({EndReason::upstream_exited, "s exited"});
  CHECK_FALSE(world.remembered(world.request()).empty());
  world.failure_lasts.reset();
  world.again();
  for (const EndReason reason : {EndReason::cancelled_client, EndReason::cancelled_operator}) {
    CHECK_FALSE(world.remembered(world.request()).empty());
    world.below.last().fails({reason, "its caller left"});
  }
  CHECK_FALSE(world.remembered(world.request()).empty());
}

TEST_CASE("another answer to discover is reported, with no list", "[layers]") {
  const auto discovered = [](const std::string& capabilities) {
    return R"({"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":)" +
           capabilities + "}}";
  };
  World world;
  world.learn(world.request("server/discover"), discovered("{}"));
  world.again();
  for (const std::string& now : {discovered("{}"), discovered(R"({"prompts":{}})")}) {
    REQUIRE_FALSE(world.remembered(world.request("server/discover")).empty());
    world.below.last().answers(now);
  }
  CHECK(world.descriptions == 1);
  CHECK(world.changes.empty());
}

TEST_CASE("a session's notifications follow the server's answer to its initialize", "[layers]") {
  World world;
  Scope scope;
  const core::Scope one{"one", "p"};
  world.memory->open_scope(one, scope);
  world.learn(world.legacy("initialize", kInit), init_result());
  const std::string list = R"({"jsonrpc":"2.0","id":4,"result":{"tools":[]}})";
  world.learn(world.legacy("tools/list"), list);
  world.memory->close_scope(one);
  world.again();
  world.memory->open_scope(one, scope);
  CHECK_FALSE(world.remembered(world.legacy("initialize", kInit)).empty());
  REQUIRE(world.below.calls.size() == 1);
  CHECK_FALSE(world.below.last().request.of_gateway);
  const std::string initialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
  world.memory->send(one, mcp::Era::legacy, parse(initialized), {});
  CHECK(world.server->sent.empty());
  CHECK_FALSE(world.remembered(world.legacy("tools/list")).empty());
  world.below.calls[0]->answers(init_result());
  CHECK(world.server->sent == std::vector{initialized});
  world.below.calls[1]->answers(R"({"jsonrpc":"2.0","id":4,"result":{"tools":[1]}})");
  CHECK(scope.heard == std::vector{kChanged});
  world.memory->send(one, mcp::Era::legacy, parse(initialized), {});
  CHECK(world.server->sent.size() == 2);
  CHECK(scope.ended == 0);
  world.memory->close_scope(one);
}

TEST_CASE("a session ends if its server speaks another revision now", "[layers]") {
  World world;
  Scope scope;
  const core::Scope one{"one", "p"};
  world.memory->open_scope(one, scope);
  world.learn(world.legacy("initialize", kInit), init_result());
  world.memory->close_scope(one);
  for (const std::string& now :
       {init_result("2025-06-18"),
        std::string(R"({"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}})")}) {
    world.again();
    world.memory->open_scope(one, scope);
    scope.ended = 0;
    REQUIRE_FALSE(world.remembered(world.legacy("initialize", kInit)).empty());
    world.below.last().answers(now);
    CHECK(scope.ended == 1);
    world.memory->close_scope(one);
    // The memory holds the newest answer.
    world.memory->open_scope(one, scope);
    const bool is_error = now.find("error") != std::string::npos;
    CHECK(world.remembered(world.legacy("initialize", kInit)).empty() == is_error);
    world.memory->close_scope(one);
    if (!is_error) continue;
    world.memory->open_scope(one, scope);
    world.learn(world.legacy("initialize", kInit), init_result());
    world.memory->close_scope(one);
  }
}

TEST_CASE("another version of the server ends the memory of the last one", "[layers]") {
  World world;
  Scope scope;
  const core::Scope one{"one", "p"};
  world.memory->open_scope(one, scope);
  world.learn(world.legacy("initialize", kInit), init_result());
  world.learn(world.request(), kOld);
  world.again();
  world.memory->open_scope(one, scope);
  CHECK_FALSE(world.remembered(world.legacy("initialize", kInit)).empty());
  world.below.last().answers(init_result("2025-11-25", "2"));
  CHECK(world.remembered(world.request()).empty());
  CHECK(world.doubts == 1);
  world.memory->close_scope(one);
}

TEST_CASE("a changed command is another server", "[layers]") {
  World world;
  world.learn(world.request(), kOld);
  world.config.env = {{"A", "1"}};
  world.again();
  world.learn(world.request(), kNew);
  world.config.env.clear();
  world.again();
  CHECK(world.remembered(world.request()).empty());  // the file is that of the other one now
}

TEST_CASE("the end of a session ends its checks", "[layers]") {
  World world;
  Scope scope;
  const core::Scope one{"one", "p"};
  world.memory->open_scope(one, scope);
  world.learn(world.legacy("initialize", kInit), init_result());
  world.again();
  world.memory->open_scope(one, scope);
  REQUIRE_FALSE(world.remembered(world.legacy("initialize", kInit)).empty());
  world.memory->close_scope(one);
  CHECK(world.below.last().cancelled);
}

TEST_CASE("the era of the last life is assumed", "[layers]") {
  World world;
  EraVerdict verdict;
  verdict.known = true;
  verdict.era = mcp::Era::modern;
  verdict.versions = {"2026-07-28"};
  world.memory->note_era(verdict);
  world.again();
  CHECK_FALSE(world.assumed);
  world.remembered(world.request());
  REQUIRE(world.assumed);
  CHECK(world.assumed->era == mcp::Era::modern);
}
