#include "proxy/upstream/layers/shared_call.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proxy/core/passing_upstream.h"
#include "proxy/metrics/stats.h"
#include "unit/protocol/mcp/parse.h"
#include "unit/proxy/core/asker.h"

using namespace lineward;
using namespace lineward::upstream;
using core::CallPhase;

namespace {

using core::Asker;
using mcp::parse;

core::UpstreamRequest request(uint64_t tag) {
  core::UpstreamRequest made;
  made.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  made.tag = tag;
  return made;
}

// The messages to the server about the one call.
struct Wire {
  int started = 0;
  std::vector<std::string> cancelled;
};

struct WireCall final : core::Call {
  WireCall(Wire& its_wire, core::UpstreamRequest its_request)
      : wire(its_wire), asked(std::move(its_request)) {}
  void cancel(core::CancelCause why) override {
    wire.cancelled.emplace_back(why.text);
    alive = false;
  }
  bool live() const override { return alive; }
  void reply(std::string) override {}
  void hand_over(core::CallCallbacks&, core::Handover) override {}
  core::CallFacts call_facts() const override { return {&asked.message}; }
  void retried(mcp::Message) override {}
  Wire& wire;
  core::UpstreamRequest asked;
  bool alive = true;
};

struct WireUpstream final : core::PassingUpstream {
  explicit WireUpstream(Wire& its_wire) : PassingUpstream("s"), wire(its_wire) {}
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& asked,
                                                           core::CallCallbacks&) override {
    ++wire.started;
    return Result<std::unique_ptr<core::Call>, core::Failure>(
        std::make_unique<WireCall>(wire, std::move(asked)));
  }
  Wire& wire;
};

struct Plain final : SharedCall {
  Plain(net::Loop& loop, core::Upstream& inner) : SharedCall(loop, inner, "key", request(1)) {}
  void on_call_message(mcp::Message&& message) override { tell_end(message); }
  void on_call_failed(const core::Failure& failure) override { tell_end(failure); }
  void over() override { ++overs; }
  void stands(const mcp::Message& message) {
    acknowledged = message;
    tell_acknowledged(message);
  }
  const mcp::Message* acknowledgement() const override { return acknowledged ? &*acknowledged : nullptr; }
  std::shared_ptr<const mcp::ListenFilter> granted() const override { return filter; }
  using SharedCall::let_go_of_others;
  using SharedCall::tell;
  std::optional<mcp::Message> acknowledged;
  std::shared_ptr<const mcp::ListenFilter> filter;
  int overs = 0;
};

struct Cancels final : metrics::CancelWatcher {
  explicit Cancels(const std::string& upstream) : stats(metrics::upstream_stats(upstream)) {
    stats.cancel_watcher = this;
  }
  ~Cancels() { stats.cancel_watcher = nullptr; }
  void on_cancel_settled(uint64_t tag, const metrics::CancelReport& report) override {
    settled.emplace_back(tag, report.told);
  }
  metrics::UpstreamStats& stats;
  std::vector<std::pair<uint64_t, metrics::CancelTold>> settled;
};

struct World {
  World() {
    server.name = "shared";
    REQUIRE_FALSE(call.open());
  }
  std::unique_ptr<SharedCallHandle> lease(uint64_t tag, Asker& asker) {
    auto made = std::make_unique<SharedCallHandle>(server, request(tag), asker);
    call.join(*made);
    return made;
  }
  net::Loop loop;
  config::Server server;
  Wire wire;
  WireUpstream upstream{wire};
  Plain call{loop, upstream};
};

const char* const kAnswer = R"({"jsonrpc":"2.0","id":1,"result":{}})";

}  // namespace

TEST_CASE("a later caller gets the phase once, and never while it is being started") {
  World world;
  Asker first, second;
  auto one = world.lease(1, first);
  world.call.on_call_phase(CallPhase::written);
  auto two = world.lease(2, second);
  CHECK(second.phases.empty());
  world.loop.close_deferred();
  CHECK(second.phases == std::vector{CallPhase::written});
  CHECK(first.phases == std::vector{CallPhase::written});
  world.call.on_call_message(parse(kAnswer));
  CHECK(world.wire.started == 1);
  CHECK(first.heard == second.heard);
  CHECK(first.heard.size() == 1);
  CHECK_FALSE(one->live());
  CHECK(world.call.overs == 0);
}

TEST_CASE("a caller that ends another's while all are told leaves nothing behind") {
  World world;
  Asker first, second, third;
  auto one = world.lease(1, first);
  auto two = world.lease(2, second);
  auto three = world.lease(3, third);
  Cancels cancels("shared");
  auto told = metrics::CancelTold::nothing;
  first.then = [&] {
    if (!two) return;
    two->cancel("its client left");
    two.reset();
  };
  SECTION("a phase") {
    told = metrics::CancelTold::others_wait;
    world.call.on_call_phase(CallPhase::starting);
    CHECK(third.phases.size() == 1);
    world.call.on_call_message(parse(kAnswer));
  }
  SECTION("the answer") {
    world.call.on_call_message(parse(kAnswer));
  }
  SECTION("a failure") {
    core::Failure failure;
    failure.text = "it broke";
    world.call.on_call_failed(failure);
    REQUIRE(third.failed);
    CHECK(third.failed->text == "it broke");
  }
  CHECK(second.heard.empty());
  CHECK_FALSE(second.failed);
  CHECK_FALSE(three->live());
  CHECK(cancels.settled == std::vector{std::pair{uint64_t{2}, told}});
  CHECK(world.wire.cancelled.empty());
}

TEST_CASE("the last one leaving cancels the call, and says by which means") {
  World world;
  Asker first, second;
  Cancels cancels("shared");
  auto one = world.lease(1, first);
  auto two = world.lease(2, second);
  one->cancel("its client left");
  CHECK(world.wire.cancelled.empty());
  two->cancel("its client left too");
  CHECK(world.wire.cancelled == std::vector<std::string>{"its client left too"});
  CHECK(world.call.overs == 1);
  CHECK(cancels.settled == std::vector{std::pair{uint64_t{1}, metrics::CancelTold::others_wait},
                                       std::pair{uint64_t{2}, metrics::CancelTold::notification}});
}

TEST_CASE("only the first caller learns that the request which the server has is its own") {
  World world;
  Asker first, second;
  auto one = world.lease(1, first);
  auto two = world.lease(2, second);
  world.call.on_call_phase(CallPhase::written);
  CHECK(first.whose == core::Coalesced::no);
  CHECK(second.whose == core::Coalesced::yes);
  SECTION("what is behind the call shares it too") {
    world.call.on_call_request(core::Coalesced::yes);
    world.call.on_call_phase(CallPhase::starting);
    CHECK(first.whose == core::Coalesced::yes);
  }
  SECTION("a released caller asks for itself") {
    const auto others = world.call.let_go_of_others();
    REQUIRE(others.size() == 1);
    Plain apart{world.loop, world.upstream};
    apart.join(*others[0]);
    apart.on_call_phase(CallPhase::queued);
    CHECK(second.whose == core::Coalesced::no);
    two->cancel("its client left");
  }
  one->cancel("its client left");
  if (two->live()) two->cancel("its client left");
}

TEST_CASE("of the first one's call the transport itself tells what became of it") {
  World world;
  Asker first;
  Cancels cancels("shared");
  auto one = world.lease(1, first);
  one->cancel("its client left");
  CHECK(world.wire.cancelled.size() == 1);
  CHECK(cancels.settled.empty());
}

TEST_CASE("notifications are for listens with an acknowledgement; of phases they get only the reopening") {
  World world;
  Asker first, second;
  auto one = world.lease(1, first);
  auto news = parse(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
  auto yes = parse(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"})");
  world.call.on_call_phase(CallPhase::written);
  world.call.stands(yes);
  auto two = world.lease(2, second);
  world.call.tell(news);
  CHECK(second.heard.empty());
  world.loop.close_deferred();
  world.call.on_call_phase(CallPhase::starting);
  world.call.on_call_phase(CallPhase::written);
  world.call.tell(news);
  CHECK(first.heard == std::vector<std::string>{yes.bytes(), news.bytes(), news.bytes()});
  CHECK(second.heard == std::vector<std::string>{yes.bytes(), news.bytes()});
  CHECK(first.phases == std::vector{CallPhase::written, CallPhase::starting});
  CHECK(second.phases == std::vector{CallPhase::written, CallPhase::starting});
  one->cancel("end");
  two->cancel("end");
}

TEST_CASE("each hears what it was granted when it came, also when the server grants more later") {
  World world;
  Asker first, second;
  auto acknowledgement = [](const std::string& notifications) {
    return parse(
        R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":)" +
        notifications + "}}");
  };
  auto stands = [&](const std::string& notifications) {
    world.call.filter = std::make_shared<const mcp::ListenFilter>(notifications);
    world.call.stands(acknowledgement(notifications));
  };
  auto tools = parse(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
  auto prompts = parse(R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})");
  const std::string few = R"({"toolsListChanged":true})";
  const std::string all = R"({"toolsListChanged":true,"promptsListChanged":true})";
  auto one = world.lease(1, first);
  stands(few);
  stands(all);
  auto two = world.lease(2, second);
  world.loop.close_deferred();
  world.call.tell(prompts);
  world.call.tell(tools);
  std::string acknowledged_few = acknowledgement(few).bytes();
  CHECK(first.heard == std::vector<std::string>{acknowledged_few, acknowledged_few, tools.bytes()});
  CHECK(second.heard ==
        std::vector<std::string>{acknowledgement(all).bytes(), prompts.bytes(), tools.bytes()});
  one->cancel("end");
  two->cancel("end");
}

namespace {

// Says which of its members was called last.
struct Recorder final : core::Upstream {
  explicit Recorder(std::string& its_last) : Upstream("recorder"), last(its_last) {}
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&&,
                                                           core::CallCallbacks&) override {
    last = "start";
    return Unexpected<core::Failure>{{}};
  }
  void open_scope(const core::Scope&, core::ScopeCallbacks&) override { last = "open_scope"; }
  void close_scope(const core::Scope&) override { last = "close_scope"; }
  void send(const core::Scope&, mcp::Era, const mcp::Message&, const core::HeaderFields&) override {
    last = "send";
  }
  core::ServerFacts facts() const override { return {mcp::Era::legacy, true, {.tools = true}}; }
  core::UpstreamParts parts(const core::Scope&) override {
    last = "parts";
    return {};
  }
  core::UpstreamStatus status() const override {
    core::UpstreamStatus made;
    made.why = "recorded";
    return made;
  }
  void notice(core::UpstreamNotice what) override {
    last = what == core::UpstreamNotice::retired ? "retired" : "notice";
  }
  void stop(std::function<void()> done) override {
    last = "stop";
    done();
  }
  std::string& last;
};

struct Decorator final : core::PassingUpstream {
  using PassingUpstream::PassingUpstream;
  bool stopping() const { return stopping_; }
};

struct Nobody final : core::ScopeCallbacks {
  void on_scope_message(mcp::Message, std::optional<uint64_t>) override {}
  void on_scope_reset() override {}
};

}  // namespace

TEST_CASE("a decorator passes on every member that it does not take into its own hands") {
  std::string last;
  Decorator decorator(std::make_unique<Recorder>(last));
  auto message = parse(R"({"jsonrpc":"2.0","method":"notifications/progress"})");
  Asker asker;
  Nobody nobody;
  CHECK(decorator.name() == "recorder");
  CHECK_FALSE(decorator.start(request(1), asker));
  CHECK(last == "start");
  decorator.open_scope({}, nobody);
  CHECK(last == "open_scope");
  decorator.close_scope({});
  CHECK(last == "close_scope");
  decorator.send({}, mcp::Era::modern, message, {});
  CHECK(last == "send");
  decorator.parts({});
  CHECK(last == "parts");
  CHECK(decorator.era() == mcp::Era::legacy);
  CHECK(decorator.facts().tells.tools);
  CHECK(decorator.status().why == "recorded");
  decorator.notice(core::UpstreamNotice::wake);
  CHECK(last == "notice");
  decorator.notice(core::UpstreamNotice::retired);
  CHECK(last == "retired");
  bool done = false;
  CHECK_FALSE(decorator.stopping());
  decorator.stop([&] { done = true; });
  CHECK(done);
  CHECK(decorator.stopping());
  CHECK(last == "stop");
}
