// A legacy client's session in front of a modern server, which has no sessions: Lineward keeps the session's
// state instead (behaviour.md 10). The state: handshake, log level, subscriptions, and the call of each open
// question.
//
// Also in front of a legacy server with a process shared by several sessions (isolation.md). Requests pass
// unchanged, but the process has one log level and one set of subscriptions for all sessions, so this
// session's own are kept here.
//
// Owned by the ModernBridge from open_scope to close_scope, retired at the end of the loop turn.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "protocol/mcp/modern_server.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/bridge/bridge_call.h"
#include "proxy/upstream/bridge/bridge_listen.h"

namespace lineward::upstream {

class BridgeSession;

class ModernBridge;

class BridgeSession final : public core::ScopeCallbacks {
 public:
  // `half_open_probe`: the client's own `initialize` is sent to the server first, since it may speak the
  // legacy revisions itself. Unrelated to the circuit breaker.
  BridgeSession(ModernBridge& bridge, core::Scope scope, core::ScopeCallbacks& owner, bool half_open_probe);
  ~BridgeSession();
  BridgeSession(const BridgeSession&) = delete;
  BridgeSession& operator=(const BridgeSession&) = delete;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner);
  // Forwards with the client's headers. `by`: the sender, if it is known (core::Scope).
  void forward(const mcp::Message& message, const core::HeaderFields& headers = {},
               const core::ClientRequestPtr& by = nullptr);
  // Ends everything; no callback follows.
  void close(const core::Failure& why);
  // The client's own `initialize` was sent to the server, and it is undecided whether the server or the
  // bridge serves the session.
  bool half_open_probe() const { return probing_; }
  // All its messages are translated: the server has no such session.
  bool is_bridged() const { return !probing_ && !shares_; }

  // For its calls.
  net::Loop& loop();
  core::Upstream& inner();
  const mcp::LegacyClient& client() const { return client_; }
  // The scope of its modern requests: a process keeps its state by session.
  core::Scope modern_scope() const { return {{}, scope_.principal, scope_.session}; }
  uint64_t joined(BridgeCall& call) {
    calls_[next_call_] = &call;
    return next_call_++;
  }
  void left(BridgeCall& call);
  // A request was sent to the server, or answered here.
  void sent_or_answered();
  void taken_by_server(const core::UpstreamRequest& request);
  // The server's answer to this session's own `initialize` is good, and is used.
  void serves_itself(const mcp::Message& answer, bool has_session);
  void learned_modern_only(bool for_good);
  void begin_bridging();
  // The answer to `initialize`; empty when the server's is unusable.
  std::optional<std::string> discovered(const mcp::Message& answer);
  std::optional<json::Text> project(const core::UpstreamRequest& request, const mcp::Message& answer);
  int64_t new_question(BridgeCall& call);
  std::string new_elicitation_id(const mcp::InputRequest& request);
  void to_client(mcp::Message message, std::optional<uint64_t> tag);
  // Answers a question in the client's place: it did not declare the capability.
  void refuse_question(const mcp::Message& question, const std::string& capability);
  void withdraw(int64_t question, std::string_view why, uint64_t tag);

 private:
  // core::ScopeCallbacks, for an aggregate: its servers have processes of this session's own.
  void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) override;
  void client_is_there();
  void on_scope_reset() override {}  // of one server among several: its questions are withdrawn by id
  bool is_pinned() const override { return owner_ != nullptr && owner_->is_pinned(); }
  std::optional<std::chrono::milliseconds> unused_for() const override {
    return owner_ == nullptr ? std::nullopt : owner_->unused_for();
  }
  std::optional<std::chrono::milliseconds> abandoned_for() const override {
    return owner_ == nullptr ? std::nullopt : owner_->abandoned_for();
  }

  Result<std::unique_ptr<core::Call>, core::Failure> start_as_it_is(core::UpstreamRequest&& request,
                                                                    core::CallCallbacks& owner);
  void want_lists();
  BridgeCall* find(uint64_t serial) const;
  bool handled_here(BridgeCall& call);
  void set_level(BridgeCall& call);
  bool keep_level(std::string level);
  void subscription(BridgeCall& call, bool wanted);
  void finish_later(BridgeCall& call, std::string text);
  void refuse_later(BridgeCall& call, int code, std::string_view text);

  ModernBridge& bridge_;
  core::Scope scope_;
  core::ScopeCallbacks* owner_;  // null once closed
  // Messages of servers before the client has sent `notifications/initialized`.
  struct Early {
    mcp::Message message;
    std::optional<uint64_t> only_call;
  };
  std::vector<Early> early_;
  MemoryCharge early_bytes_{Held::sessions};
  bool is_initialized_ = false;
  bool probing_;
  bool shares_ = false;  // shares a legacy server's process
  mcp::LegacyClient client_;
  std::optional<mcp::ModernServer> server_;
  MemoryCharge client_bytes_{Held::sessions}, server_bytes_{Held::servers};
  mcp::WrappedTools wrapped_;
  BridgeListen listen_;
  std::map<uint64_t, BridgeCall*> calls_;  // live, by serial number
  std::map<int64_t, BridgeCall*> questions_;
  uint64_t next_call_ = 1;
  int64_t next_question_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
