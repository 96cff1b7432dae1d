// For tests of the two halves of a server that lives on another worker: the server on one thread's loop, its
// callers on another's.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proxy/cluster/remote_upstream.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/core/remote_tag.h"
#include "proxy/metrics/stats.h"
#include "unit/protocol/mcp/parse.h"
#include "unit/proxy/core/asker.h"

namespace lineward::cluster::remote_test {

using core::CallPhase;
using mcp::EndReason;

using core::Asker;
using mcp::parse;

inline mcp::Message result(int n) {
  return parse(R"({"jsonrpc":"2.0","id":0,"result":{"n":)" + std::to_string(n) + "}}");
}
inline mcp::Message progress(int n, size_t padding = 0) {
  return parse(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":)" +
               std::to_string(n) + R"(,"message":")" + std::string(padding, 'x') + "\"}}");
}

inline core::UpstreamRequest request(uint64_t tag, std::string method = "tools/call") {
  core::UpstreamRequest made;
  made.message = parse(R"({"jsonrpc":"2.0","id":1,"method":")" + method +
                       R"(","params":{"name":"x","notifications":{"toolsListChanged":true}}})");
  made.method = mcp::method_of(method);
  made.tag = tag;
  made.from = std::make_shared<core::ClientRequest>();
  return made;
}

// ---- the server's side ----

struct Heard {
  std::string cancelled;  // why
  mcp::EndReason cancelled_as{};
  std::vector<std::string> replies;
  std::vector<bool> pauses, parked;
  std::string retried;
};

struct FakeCall final : core::Call {
  FakeCall(std::set<FakeCall*>& all, std::shared_ptr<Heard> its_heard, core::UpstreamRequest its_request,
           core::CallCallbacks& its_owner)
      : open(all), heard(std::move(its_heard)), asked(std::move(its_request)), owner(&its_owner) {}
  ~FakeCall() override { open.erase(this); }
  void cancel(core::CancelCause why) override {
    heard->cancelled = why.text;
    heard->cancelled_as = why.reason;
    owner = nullptr;
    metrics::upstream_stats("fake").cancel_settled(asked.tag, {metrics::CancelOutcome::stopped});
  }
  bool live() const override { return owner != nullptr; }
  void reply(std::string message) override { heard->replies.push_back(std::move(message)); }
  bool hold(bool stop) override {
    if (heard->pauses.empty() || heard->pauses.back() != stop) heard->pauses.push_back(stop);
    return pausable;
  }
  void hand_over(core::CallCallbacks& to, core::Handover how) override {
    owner = &to;
    heard->parked.push_back(how == core::Handover::parked);
  }
  core::CallFacts call_facts() const override { return {&asked.message, "info", true, false, false}; }
  void retried(mcp::Message message) override { heard->retried = message.bytes(); }

  void say(mcp::Message message) {
    const bool last =
        message.kind() != mcp::MessageKind::notification && message.kind() != mcp::MessageKind::request;
    core::CallCallbacks* to = last ? std::exchange(owner, nullptr) : owner;
    to->on_call_message(std::move(message));
  }

  std::set<FakeCall*>& open;
  std::shared_ptr<Heard> heard;
  core::UpstreamRequest asked;
  core::CallCallbacks* owner;
  bool pausable = true;
};

struct FakeServer final : core::PassingUpstream {
  FakeServer() : PassingUpstream("fake") {}
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& asked,
                                                           core::CallCallbacks& owner) override {
    if (refuses) return Unexpected<core::Failure>{{EndReason::queue_full, "full"}};
    auto made = std::make_unique<FakeCall>(open, std::make_shared<Heard>(), std::move(asked), owner);
    last = made.get();
    open.insert(last);
    heard.push_back(made->heard);
    ++started;
    return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(made));
  }
  void send(const core::Scope&, mcp::Era, const mcp::Message& message, const core::HeaderFields&) override {
    forwarded = message.bytes();
  }
  void open_scope(const core::Scope&, core::ScopeCallbacks& its_owner) override { scope = &its_owner; }
  void close_scope(const core::Scope&) override { scope = nullptr; }
  core::ServerFacts facts() const override { return {its_era}; }
  core::UpstreamStatus status() const override { return {}; }

  std::optional<mcp::Era> its_era;
  bool refuses = false;
  int started = 0;
  FakeCall* last = nullptr;  // while it lives
  std::set<FakeCall*> open;  // that live
  std::vector<std::shared_ptr<Heard>> heard;
  std::string forwarded;
  core::ScopeCallbacks* scope = nullptr;  // the last one's owner, while it is open
};

// Its thread, as a worker's.
struct Far final : metrics::CancelWatcher {
  Far() {
    std::promise<void> begun;
    thread = std::thread([&] {
      metrics::use_stats(&stats);
      metrics::upstream_stats("fake").cancel_watcher = this;
      net::Loop mine;
      loop = &mine;
      mailbox = *net::Mailbox::create(mine);
      server = std::make_unique<FakeServer>();
      call_server = std::make_shared<RemoteCallServer>(mine, *server, lease);
      begun.set_value();
      mine.run();
      mailbox->close();
      call_server.reset();
      mine.close_deferred();
      server.reset();
      mine.close_all();
      metrics::use_stats(nullptr);
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
  void on_cancel_settled(uint64_t tag, const metrics::CancelReport& report) override {
    settled.emplace_back(tag, report.outcome);
  }

  metrics::GatewayStats stats;
  std::thread thread;
  net::Loop* loop = nullptr;
  std::shared_ptr<net::Mailbox> mailbox;
  std::unique_ptr<FakeServer> server;
  std::shared_ptr<void> lease = std::make_shared<int>();
  std::shared_ptr<RemoteCallServer> call_server;
  std::vector<std::pair<uint64_t, metrics::CancelOutcome>> settled;
};

// ---- the callers' side ----

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
  RemoteHandle<RemoteCallServer> address() const { return {far.mailbox, far.call_server}; }
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

}  // namespace lineward::cluster::remote_test
