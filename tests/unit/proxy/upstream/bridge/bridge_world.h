// The peers of the bridge: a modern server that keeps its requests until the test answers them, and a legacy
// client that records its messages.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/upstream/bridge/modern_bridge.h"
#include "unit/protocol/mcp/parse.h"
#include "unit/proxy/core/asker.h"

namespace lineward::upstream {

using core::Asker;
using mcp::parse;

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct LegacyClient final : core::ScopeCallbacks {
  std::vector<std::string> told;
  std::vector<std::optional<uint64_t>> tags;
  void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) override {
    told.push_back(message.bytes());
    tags.push_back(only_call);
  }
  void on_scope_reset() override {}
};

// A request as the server has it.
struct Asked {
  core::UpstreamRequest request;
  core::CallCallbacks* owner = nullptr;
  bool live = true;
  bool has_session = true;
  std::string cancelled;  // why
  std::vector<std::string> replies;

  const std::string& text() const { return request.message.bytes(); }
  bool says(std::string_view part) const { return text().find(part) != std::string::npos; }
  void tell(std::string message) { owner->on_call_message(parse(std::move(message))); }
  // The last that is heard of it.
  void answer(const std::string& result) {
    live = false;
    tell(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}");
  }
  void refuse(int code) {
    live = false;
    tell(R"({"jsonrpc":"2.0","id":1,"error":{"code":)" + std::to_string(code) + R"(,"message":"no"}})");
  }
  void fail(mcp::EndReason reason) { fail({reason, "files has ended"}); }
  void fail(const core::Failure& failure) {
    live = false;
    owner->on_call_failed(failure);
  }
};

struct ModernServer final : core::Upstream {
  struct WireCall final : core::Call {
    explicit WireCall(std::shared_ptr<Asked> its) : asked(std::move(its)) {}
    ~WireCall() override { asked->owner = nullptr; }
    void cancel(core::CancelCause why) override {
      asked->live = false;
      asked->cancelled = why.text;
    }
    bool live() const override { return asked->live; }
    void reply(std::string message) override { asked->replies.push_back(std::move(message)); }
    void hand_over(core::CallCallbacks& owner, core::Handover) override { asked->owner = &owner; }
    core::CallFacts call_facts() const override {
      core::CallFacts facts{&asked->request.message};
      facts.has_session = asked->has_session;
      return facts;
    }
    void retried(mcp::Message) override {}
    std::shared_ptr<Asked> asked;
  };

  ModernServer() : Upstream("files") {}
  std::optional<mcp::Era> spoken = mcp::Era::modern;
  std::vector<std::shared_ptr<Asked>> asked;
  std::vector<std::string> forwarded;
  core::HeaderFields forwarded_with;  // the headers of the last
  int scopes = 0;                     // sessions it was told of
  bool takes_calls = true;
  bool stopped = false;

  Asked& last() {
    REQUIRE_FALSE(asked.empty());
    return *asked.back();
  }

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override {
    if (!takes_calls) return Unexpected<core::Failure>{{mcp::EndReason::upstream_exited, "files is gone"}};
    asked.push_back(std::make_shared<Asked>());
    asked.back()->request = std::move(request);
    asked.back()->owner = &owner;
    return Result<std::unique_ptr<core::Call>, core::Failure>(std::make_unique<WireCall>(asked.back()));
  }
  void open_scope(const core::Scope&, core::ScopeCallbacks&) override { ++scopes; }
  void close_scope(const core::Scope&) override { --scopes; }
  void send(const core::Scope&, mcp::Era, const mcp::Message& message,
            const core::HeaderFields& headers) override {
    forwarded.push_back(message.bytes());
    forwarded_with = headers;
  }
  core::ServerFacts facts() const override { return {spoken}; }
  void stop(std::function<void()> done) override {
    stopped = true;
    done();
  }
};

inline const std::string kDiscovered =
    R"({"resultType":"complete","supportedVersions":["2026-07-28"],"serverInfo":{"name":"m","version":"1"},)"
    R"("capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}})";

struct BridgeWorld {
  net::Loop loop;
  config::Server config;
  ModernServer* server = nullptr;  // the bridge's
  std::unique_ptr<ModernBridge> bridge;
  LegacyClient client;
  const core::Scope scope{"session-1", "somebody", {}};

  explicit BridgeWorld(config::Era era = config::Era::modern) {
    config.name = "files";
    config.protocol_era = era;
    config.restart.backoff = config.restart.max_backoff = std::chrono::milliseconds(1);
    auto made = std::make_unique<ModernServer>();
    server = made.get();
    bridge = std::make_unique<ModernBridge>(loop, std::move(made), config);
    bridge->open_scope(scope, client);
  }
  ~BridgeWorld() {
    bridge->close_scope(scope);
    turns();
    bridge.reset();
    loop.close_all();
  }

  // Runs the deferred work of this turn, and its consequences.
  void turns() {
    for (int i = 0; i < 4; ++i)
      loop.close_deferred();
  }
  // For what a timer brings; its limit is for tests that fail.
  template <class Done>
  bool wait_for(Done done) {
    net::Timer timer(loop);
    int left = 5000;
    std::function<void()> look = [&] {
      if (done() || --left == 0) return loop.stop();
      timer.start(std::chrono::milliseconds(1), look);
    };
    look();
    if (left < 5000 || !done()) loop.run();
    return done();
  }

  Result<std::unique_ptr<core::Call>, core::Failure> start(std::string text, Asker& asker, uint64_t tag = 0) {
    core::UpstreamRequest request;
    request.message = parse(std::move(text));
    request.method = mcp::method_of(request.message.method());
    request.client_era = mcp::Era::legacy;
    request.scope = scope;
    request.tag = tag;
    return bridge->start(std::move(request), asker);
  }
  std::unique_ptr<core::Call> call(std::string text, Asker& asker, uint64_t tag = 0) {
    auto made = start(std::move(text), asker, tag);
    REQUIRE(made);
    return std::move(*made);
  }
  std::unique_ptr<core::Call> initialize(Asker& asker, const std::string& capabilities = "{}") {
    return call(R"({"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25",)"
                R"("clientInfo":{"name":"old","version":"1"},"capabilities":)" +
                    capabilities + "}}",
                asker);
  }
  // The whole handshake.
  void begin(const std::string& capabilities = "{}") {
    Asker asker;
    auto made = initialize(asker, capabilities);
    server->last().answer(kDiscovered);
    turns();
    REQUIRE(asker.heard.size() == 1);
    REQUIRE_FALSE(made->live());
  }
  void say(std::string text, const core::HeaderFields& headers = {}) {
    bridge->send(scope, mcp::Era::legacy, parse(std::move(text)), headers);
  }
};

}  // namespace lineward::upstream
