// Correct neighbours of exchanges: a client's reply stream that keeps its messages, a server with calls that
// the test controls, and an owner that records its callbacks.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/exchange/exchange.h"
#include "proxy/exchange/park_table.h"
#include "unit/foundation/net/turns.h"
#include "unit/protocol/mcp/parse.h"

namespace lineward::exchange {

using mcp::parse;
using mcp::progress;

// The messages to a client on the stream of one exchange.
struct Client {
  std::vector<std::string> sent;
  std::optional<std::string> answer;
  int status = 0;
  bool ended_empty = false;
  bool takes = true;  // events
  bool slow = false;
  std::optional<mcp::EndReason> lost;
  bool session_refused = false;
  core::HeaderFields headers;
  std::function<void()> drained;
  mcp::Message last() const {
    REQUIRE_FALSE(sent.empty());
    return parse(sent.back());
  }
  mcp::Message answered() const {
    REQUIRE(answer);
    return parse(*answer);
  }
};

class ClientReply final : public core::ReplyStream {
 public:
  explicit ClientReply(Client& client) : client_(client) {}
  void send(std::string message) override { client_.sent.push_back(std::move(message)); }
  void finish(std::string message, int status) override {
    client_.answer = std::move(message);
    client_.status = status;
  }
  void finish_empty() override { client_.ended_empty = true; }
  void cut() override {}
  bool can_send() const override { return client_.takes && !client_.lost && !client_.answer; }
  std::optional<mcp::EndReason> lost() const override { return client_.lost; }
  uint64_t bytes_out() const override { return 0; }
  bool above_high_watermark() override { return client_.slow; }
  void when_drained(std::function<void()> drained) override { client_.drained = std::move(drained); }
  void refuse_session() override { client_.session_refused = true; }
  void add_headers(const core::HeaderFields& fields) override { client_.headers = fields; }

 private:
  Client& client_;
};

// A call as its server sees it. Outlives the Call that its exchange or the park table has.
struct ServersCall {
  core::CallCallbacks* owner = nullptr;
  std::string request;
  std::optional<core::Handover> handed;
  std::optional<std::string> cancelled;
  std::vector<std::string> replies;
  std::vector<std::string> retries;
  bool paused = false;
  bool can_pause = true;
  void says(std::string text) { owner->on_call_message(parse(std::move(text))); }
  void answers(std::string text) { std::exchange(owner, nullptr)->on_call_message(parse(std::move(text))); }
  void fails(const core::Failure& failure) { std::exchange(owner, nullptr)->on_call_failed(failure); }
};

class FakeCall final : public core::Call {
 public:
  FakeCall(std::shared_ptr<ServersCall> seen, mcp::Message request)
      : seen_(std::move(seen)), request_(std::move(request)) {}
  ~FakeCall() override { CHECK_FALSE(live()); }
  void cancel(core::CancelCause why) override {
    if (!live()) return;
    seen_->owner = nullptr;
    seen_->cancelled = std::string(why.text);
  }
  bool live() const override { return seen_->owner != nullptr; }
  void reply(std::string message) override { seen_->replies.push_back(std::move(message)); }
  bool hold(bool on) override {
    seen_->paused = on && seen_->can_pause;
    return !on || seen_->can_pause;
  }
  void hand_over(core::CallCallbacks& owner, core::Handover how) override {
    if (live()) seen_->owner = &owner;
    seen_->handed = how;
  }
  core::CallFacts call_facts() const override { return {&request_}; }
  void retried(mcp::Message request) override {
    seen_->retries.push_back(request.bytes());
    request_ = std::move(request);
  }

 private:
  const std::shared_ptr<ServersCall> seen_;
  mcp::Message request_;
};

struct FakeUpstream final : core::Upstream {
  explicit FakeUpstream(std::string its_name = "s") : Upstream(std::move(its_name)) {}
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override {
    if (refuses) return Unexpected<core::Failure>{core::Failure(*refuses)};
    auto seen = std::make_shared<ServersCall>();
    seen->owner = &owner;
    seen->request = request.message.bytes();
    calls.push_back(seen);
    return Result<std::unique_ptr<core::Call>, core::Failure>(
        std::make_unique<FakeCall>(std::move(seen), std::move(request.message)));
  }
  void open_scope(const core::Scope&, core::ScopeCallbacks&) override {}
  void close_scope(const core::Scope&) override {}
  void send(const core::Scope&, mcp::Era, const mcp::Message& message, const core::HeaderFields&) override {
    forwarded.push_back(message.bytes());
  }
  core::ServerFacts facts() const override { return {its_era}; }
  void stop(std::function<void()> done) override { done(); }
  ServersCall& call() {
    REQUIRE_FALSE(calls.empty());
    return *calls.back();
  }

  mcp::Era its_era = mcp::Era::legacy;
  std::optional<core::Failure> refuses;
  std::vector<std::shared_ptr<ServersCall>> calls;
  std::vector<std::string> forwarded;
};

struct Ended {
  mcp::EndReason reason;
  int code;
};

// A server, and exchanges with it. Its clients are declared before it: at its end their calls are ended.
struct ExchangeWorld final : ExchangeCallbacks {
  ExchangeWorld() : ExchangeCallbacks(park) {
    server.name = upstream.name();
    server.timeouts.question_batch = std::chrono::milliseconds(1);
  }
  ~ExchangeWorld() {
    park.close("the test is over");
    for (auto& exchange : exchanges) {
      if (!exchange->ended()) exchange->client_left(mcp::EndReason::cancelled_client);
    }
    exchanges.clear();
    turn();
  }

  Exchange& begin(Client& client, std::string request, mcp::Era era = mcp::Era::legacy,
                  const std::string& session = {}, const core::CallerPtr& caller = nullptr) {
    core::IncomingMessage arrival;
    arrival.message = parse(std::move(request));
    arrival.from->method = mcp::method_of(arrival.message.method());
    arrival.from->era = era;
    arrival.from->upstream = "s";
    arrival.from->principal = "p";
    arrival.from->session = session;
    arrival.from->caller = caller;
    const core::ExchangeId id{static_cast<uint32_t>(exchanges.size()), 1};
    exchanges.push_back(std::make_unique<Exchange>(loop, *this, id, "c" + std::to_string(exchanges.size()),
                                                   std::move(arrival),
                                                   std::make_unique<ClientReply>(client)));
    Exchange& made = *exchanges.back();
    made.begin({ServerRef(serves), no_plugins, overload});
    return made;
  }
  // The server has the whole request.
  Exchange& begin_written(Client& client, std::string request) {
    Exchange& made = begin(client, std::move(request));
    made.on_call_phase(core::CallPhase::written);
    return made;
  }
  void turn() { net::turn(loop); }
  bool wait_for(const std::function<bool()>& done) { return net::wait_for(loop, done); }

  // ExchangeCallbacks
  bool session_opening(Exchange&) override { return opens; }
  void session_opened(Exchange&, const mcp::Message* result) override {
    sessions.push_back(result != nullptr ? result->bytes() : std::string());
  }
  void task_started(Exchange&, std::string_view token, const std::string& client_token) override {
    tasks.emplace_back(token, client_token);
  }
  void on_cancel(Exchange&, metrics::CancelInitiator initiator) override {
    cancelling_by.push_back(initiator);
  }
  void ending(Exchange& exchange) override { on_ending(exchange); }
  void ended(Exchange&, mcp::EndReason reason, int code) override { ends.push_back({reason, code}); }
  void retire(Exchange&) override { ++retired; }

  net::Loop loop;
  config::Server server;
  FakeUpstream upstream;
  std::shared_ptr<ServerVersion> serves = std::make_shared<ServerVersion>(upstream, server);
  std::vector<metrics::CancelInitiator> parked_cancels;
  ParkTable park{loop, [this](const ParkedCall&, metrics::CancelInitiator initiator) {
                   parked_cancels.push_back(initiator);
                 }};
  const std::shared_ptr<plugin::PluginSet> no_plugins;
  std::optional<core::Failure> overload;
  bool opens = true;
  std::vector<std::string> sessions;  // the results that opened them; empty: it came to nothing
  std::vector<std::pair<std::string, std::string>> tasks;
  std::vector<metrics::CancelInitiator> cancelling_by;
  std::function<void(Exchange&)> on_ending = [](Exchange&) {};
  std::vector<Ended> ends;
  int retired = 0;
  std::vector<std::unique_ptr<Exchange>> exchanges;
};

}  // namespace lineward::exchange
