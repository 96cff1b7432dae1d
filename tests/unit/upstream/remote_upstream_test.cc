// A server on one thread's loop, its callers on another's.
#include "upstream/remote_upstream.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "core/passing_upstream.h"
#include "core/remote_tag.h"
#include "core/stats.h"
#include "upstream/listen_hub.h"

using namespace lineward;
using namespace lineward::upstream;
using core::CallPhase;
using mcp::EndReason;

namespace {

mcp::Message parse(std::string text) {
  auto message = mcp::Message::parse(std::move(text));
  REQUIRE(message);
  return std::move(*message);
}

mcp::Message result(int n) {
  return parse(R"({"jsonrpc":"2.0","id":0,"result":{"n":)" + std::to_string(n) + "}}");
}
mcp::Message progress(int n, size_t padding = 0) {
  return parse(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":)" +
               std::to_string(n) + R"(,"message":")" + std::string(padding, 'x') + "\"}}");
}

core::CallRequest request(uint64_t tag, std::string method = "tools/call") {
  core::CallRequest made;
  made.message = parse(R"({"jsonrpc":"2.0","id":1,"method":")" + method +
                       R"(","params":{"name":"x","notifications":{"toolsListChanged":true}}})");
  made.method = mcp::method_of(method);
  made.tag = tag;
  made.origin = std::make_shared<core::Origin>();
  return made;
}

// ---- the server's side
// -----------------------------------------------------------------------------------------

struct Heard {
  std::string cancelled;  // why
  std::vector<std::string> replies;
  std::vector<bool> pauses, parked;
  std::string retried;
};

struct FakeCall final : core::Call {
  FakeCall(std::set<FakeCall*>& all, std::shared_ptr<Heard> its_heard, core::CallRequest its_request,
           core::CallOwner& its_owner)
      : open(all), heard(std::move(its_heard)), asked(std::move(its_request)), owner(&its_owner) {}
  ~FakeCall() override { open.erase(this); }
  void cancel(std::string_view why) override {
    heard->cancelled = why;
    owner = nullptr;
    core::upstream_stats("fake").cancel_settled(asked.tag, {core::CancelOutcome::stopped});
  }
  bool live() const override { return owner != nullptr; }
  void reply(std::string message) override { heard->replies.push_back(std::move(message)); }
  bool pause(bool stop) override {
    if (heard->pauses.empty() || heard->pauses.back() != stop) heard->pauses.push_back(stop);
    return pausable;
  }
  void hand_over(core::CallOwner& to, bool parks) override {
    owner = &to;
    heard->parked.push_back(parks);
  }
  const mcp::Message& request_message() const override { return asked.message; }
  void retried(mcp::Message message) override { heard->retried = message.bytes(); }
  std::string server_info() const override { return "info"; }
  bool of_legacy_server() const override { return true; }

  void say(mcp::Message message) {
    const bool last =
        message.kind() != mcp::MessageKind::notification && message.kind() != mcp::MessageKind::request;
    core::CallOwner* to = last ? std::exchange(owner, nullptr) : owner;
    to->on_call_message(std::move(message));
  }

  std::set<FakeCall*>& open;
  std::shared_ptr<Heard> heard;
  core::CallRequest asked;
  core::CallOwner* owner;
  bool pausable = true;
};

struct FakeServer final : core::PassingUpstream {
  FakeServer() : PassingUpstream(nullptr) {}
  const std::string& name() const override { return its_name; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest asked,
                                                           core::CallOwner& owner) override {
    if (refuses) return Unexpected<core::Failure>{{EndReason::queue_full, "full"}};
    auto made = std::make_unique<FakeCall>(open, std::make_shared<Heard>(), std::move(asked), owner);
    last = made.get();
    open.insert(last);
    heard.push_back(made->heard);
    ++started;
    return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(made));
  }
  void forward(const core::Scope&, mcp::Era, const mcp::Message& message) override {
    forwarded = message.bytes();
  }
  std::optional<std::vector<std::string>> versions() const override { return std::nullopt; }
  std::optional<mcp::Era> era() const override { return its_era; }
  core::UpstreamStatus status() const override { return {}; }

  const std::string its_name = "fake";
  std::optional<mcp::Era> its_era;
  bool refuses = false;
  int started = 0;
  FakeCall* last = nullptr;  // while it lives
  std::set<FakeCall*> open;  // that live
  std::vector<std::shared_ptr<Heard>> heard;
  std::string forwarded;
};

// Its thread, as a worker's.
struct Far final : core::CancelWatcher {
  Far() {
    std::promise<void> begun;
    thread = std::thread([&] {
      core::use_stats(&stats);
      core::upstream_stats("fake").cancel_watcher = this;
      net::Loop mine;
      loop = &mine;
      mailbox = *net::Mailbox::create(mine);
      server = std::make_unique<FakeServer>();
      door = std::make_shared<RemoteDoor>(mine, *server, lease);
      begun.set_value();
      mine.run();
      mailbox->close();
      door.reset();
      mine.close_deferred();
      server.reset();
      mine.close_all();
      core::use_stats(nullptr);
    });
    begun.get_future().wait();
  }
  ~Far() { end(); }
  void end() {
    if (!thread.joinable()) return;
    mailbox->post([this] { loop->stop(); });
    thread.join();
  }
  // Done there when this returns: after all that was posted before.
  template <class F>
  void run(F&& work) {
    std::promise<void> done;
    REQUIRE(mailbox->post([&] {
      work();
      done.set_value();
    }));
    done.get_future().wait();
  }
  void on_cancel_settled(uint64_t tag, const core::CancelReport& report) override {
    settled.emplace_back(tag, report.outcome);
  }

  core::GatewayStats stats;
  std::thread thread;
  net::Loop* loop = nullptr;
  std::shared_ptr<net::Mailbox> mailbox;
  std::unique_ptr<FakeServer> server;
  std::shared_ptr<void> lease = std::make_shared<int>();
  std::shared_ptr<RemoteDoor> door;
  std::vector<std::pair<uint64_t, core::CancelOutcome>> settled;
};

// ---- the callers' side
// -----------------------------------------------------------------------------------------

struct Asker final : core::CallOwner {
  std::vector<CallPhase> phases;
  std::vector<std::string> heard;
  std::optional<core::Failure> failed;
  std::function<void()> then = [] {};
  void on_call_phase(CallPhase phase) override {
    phases.push_back(phase);
    then();
  }
  void on_call_message(mcp::Message message) override {
    heard.push_back(message.bytes());
    then();
  }
  void on_call_failed(const core::Failure& failure) override {
    failed = failure;
    then();
  }
};

struct Near {
  explicit Near(Far& its_far)
      : far(its_far),
        mailbox(*net::Mailbox::create(loop)),
        upstream(std::make_unique<RemoteUpstream>(loop, mailbox, "fake", address(), RemoteState{})) {}
  ~Near() {
    upstream.reset();
    far.end();
    mailbox->close();
    loop.close_all();
  }
  Elsewhere<RemoteDoor> address() const { return {far.mailbox, far.door}; }
  // All that the server's side has posted until now is heard.
  void listen() {
    if (far.thread.joinable()) far.run([] {});
    mailbox->post([this] { loop.stop(); });
    loop.run();
    loop.close_deferred();
  }
  std::unique_ptr<core::Call> start(Asker& asker, uint64_t tag = 7) {
    auto call = upstream->start(request(tag), asker);
    REQUIRE(call);
    return std::move(*call);
  }

  Far& far;
  net::Loop loop;
  std::shared_ptr<net::Mailbox> mailbox;
  std::unique_ptr<RemoteUpstream> upstream;
};

struct World {
  Far far;
  Near near{far};
  Asker asker;
  // As the server, on its thread; then what it said is heard here.
  template <class F>
  void serve(F&& work) {
    far.run([&] { work(*far.server); });
    near.listen();
  }
};

}  // namespace

TEST_CASE("a call goes to a server on another thread, and what the server says comes back in order") {
  World world;
  auto call = world.near.start(world.asker);
  CHECK(call->live());
  CHECK(call->request_message().method() == "tools/call");
  CHECK(world.asker.heard.empty());
  world.serve([](FakeServer& server) {
    CHECK(server.last->asked.origin == nullptr);
    CHECK(server.last->asked.tag == core::remote_tag(7));
    server.its_era = mcp::Era::legacy;
    server.last->owner->on_call_phase(CallPhase::written);
    server.last->say(progress(1));
    server.last->say(progress(2));
    server.last->say(result(3));
  });
  CHECK(world.asker.phases == std::vector{CallPhase::written});
  REQUIRE(world.asker.heard.size() == 3);
  CHECK(world.asker.heard[1] == progress(2).bytes());
  CHECK(world.asker.heard[2] == result(3).bytes());
  CHECK_FALSE(call->live());
  CHECK(call->server_info() == "info");
  CHECK(call->of_legacy_server());
  CHECK(world.near.upstream->era() == mcp::Era::legacy);
  world.far.run([&] { CHECK(world.far.door->size() == 0); });
}

TEST_CASE("a call that cannot even begin fails, and not from within start") {
  World world;
  world.far.run([&] { world.far.server->refuses = true; });
  auto call = world.near.start(world.asker);
  CHECK_FALSE(world.asker.failed);
  world.near.listen();
  REQUIRE(world.asker.failed);
  CHECK(world.asker.failed->reason == EndReason::queue_full);
  CHECK_FALSE(call->live());
}

TEST_CASE("a failure of the server's call comes with all it says") {
  World world;
  auto call = world.near.start(world.asker);
  world.serve([](FakeServer& server) {
    core::Failure failure{EndReason::rate_limited, "slowly"};
    failure.retry_after_ms = 5;
    failure.headers = {{"Retry-After", "1"}};
    std::exchange(server.last->owner, nullptr)->on_call_failed(failure);
  });
  REQUIRE(world.asker.failed);
  CHECK(world.asker.failed->retry_after_ms == 5);
  CHECK(world.asker.failed->headers.size() == 1);
}

TEST_CASE("after a cancel nothing is heard, though it was on its way, and the server is told") {
  World world;
  auto call = world.near.start(world.asker);
  world.far.run([&] { world.far.server->last->say(progress(1)); });  // posted, not heard yet
  call->cancel("no longer wanted");
  CHECK_FALSE(call->live());
  world.near.listen();
  CHECK(world.asker.heard.empty());
  world.far.run([&] {
    CHECK(world.far.server->heard[0]->cancelled == "no longer wanted");
    CHECK(world.far.door->size() == 0);
    REQUIRE(world.far.settled.size() == 1);
    CHECK(world.far.settled[0].first == core::remote_tag(7));
    CHECK(world.far.settled[0].second == core::CancelOutcome::stopped);
  });
}

TEST_CASE("a cancel that crosses the answer raced") {
  World world;
  auto call = world.near.start(world.asker);
  world.far.run([&] { world.far.server->last->say(result(1)); });
  call->cancel("too late");
  world.near.listen();
  CHECK(world.asker.heard.empty());
  world.far.run([&] {
    CHECK(world.far.server->heard[0]->cancelled.empty());
    REQUIRE(world.far.settled.size() == 1);
    CHECK(world.far.settled[0].second == core::CancelOutcome::raced);
  });
}

TEST_CASE("a call that dies alive is cancelled where the server is") {
  World world;
  world.near.start(world.asker).reset();
  world.far.run([&] { CHECK(world.far.server->heard[0]->cancelled == "internal error"); });
}

TEST_CASE("answers, retries and what parks a call reach it") {
  World world;
  Asker park;
  auto call = world.near.start(world.asker);
  call->reply(R"({"jsonrpc":"2.0","id":5,"result":{}})");
  call->hand_over(park, true);
  call->retried(parse(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}})"));
  CHECK(call->request_message().raw(mcp::Field::id) == "2");
  world.serve([](FakeServer& server) {
    CHECK(server.heard[0]->replies == std::vector<std::string>{R"({"jsonrpc":"2.0","id":5,"result":{}})"});
    CHECK(server.heard[0]->parked == std::vector<bool>{true});
    CHECK(server.heard[0]->retried.find("\"id\":2") != std::string::npos);
    server.last->say(result(1));
  });
  CHECK(world.asker.heard.empty());
  CHECK(park.heard.size() == 1);
}

TEST_CASE("an owner may cancel, answer or destroy its call from within what it hears") {
  World world;
  auto call = world.near.start(world.asker);
  SECTION("destroy at the last message") {
    world.asker.then = [&] { call.reset(); };
    world.serve([](FakeServer& server) { server.last->say(result(1)); });
    CHECK(world.asker.heard.size() == 1);
  }
  SECTION("cancel at the first") {
    world.asker.then = [&] {
      call->cancel("enough");
      world.near.loop.retire(std::move(call));
    };
    world.serve([](FakeServer& server) {
      for (int n = 0; n < 5; ++n)
        server.last->say(progress(n));
    });
    CHECK(world.asker.heard.size() == 1);
    world.far.run([&] { CHECK(world.far.server->heard[0]->cancelled == "enough"); });
  }
}

TEST_CASE("pausing says whether the server could be held back when it was heard last") {
  World world;
  auto call = world.near.start(world.asker);
  CHECK_FALSE(call->pause(true));  // nothing is known yet
  world.serve([](FakeServer& server) { server.last->say(progress(1)); });
  CHECK(call->pause(true));
  world.serve([](FakeServer& server) {
    CHECK(server.heard[0]->pauses.back() == true);
    server.last->pausable = false;
    server.last->say(progress(2));
  });
  CHECK_FALSE(call->pause(false));
  call->cancel("done");
}

TEST_CASE(
    "a server is held back while much of a call waits on the other thread, and goes on when it was taken") {
  World world;
  auto call = world.near.start(world.asker);
  size_t said = 0;
  world.far.run([&] {
    auto& server = *world.far.server;
    while (server.heard[0]->pauses.empty() || !server.heard[0]->pauses.back()) {
      REQUIRE(++said < 1000);
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
  world.far.run([&] { world.far.door.reset(); });
  auto call = world.near.start(world.asker);
  world.near.listen();
  REQUIRE(world.asker.failed);
}

TEST_CASE("a worker lets go of its server when the other's stand-in has gone") {
  World world;
  std::weak_ptr<void> lease = world.far.lease;
  world.far.run([&] { world.far.lease.reset(); });
  CHECK_FALSE(lease.expired());
  world.near.upstream.reset();
  world.far.run([&] { CHECK(lease.expired()); });
}

TEST_CASE("what is posted to a worker whose callers have gone harms nobody") {
  World world;
  auto call = world.near.start(world.asker);
  world.far.run([&] { world.far.server->last->say(progress(1)); });
  call->cancel("leaving");
  call.reset();
  world.near.upstream.reset();  // mail for its desk is still there
  world.near.listen();
  CHECK(world.asker.heard.empty());
}

TEST_CASE("notifications reach the server, and how it is comes when it says so") {
  World world;
  world.near.upstream->forward({}, mcp::Era::modern, progress(9));
  world.serve([&](FakeServer& server) {
    CHECK(server.forwarded == progress(9).bytes());
    server.its_era = mcp::Era::modern;
    world.far.door->tell_state();
  });
  CHECK(world.near.upstream->era() == mcp::Era::modern);
}

TEST_CASE("many who listen alike are one listen on the other thread") {
  World world;
  config::Server server;
  server.name = "fake";
  auto mine = std::make_unique<RemoteUpstream>(world.near.loop, world.near.mailbox, "fake",
                                               world.near.address(), RemoteState{mcp::Era::modern, {}, {}});
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
    its.last->say(
        parse(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}})"));
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
  // Whoever has come by then is told something and answered, turn by turn.
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
  world.far.run([&] { CHECK(world.far.door->size() == 0); });
}
