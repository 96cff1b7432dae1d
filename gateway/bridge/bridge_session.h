// A legacy client's session in front of a modern server, which has none: what lives in Lineward instead
// (behaviour.md 10). Handshake, level, subscriptions, and which call each open question belongs to.
//
// Also in front of a legacy server, where it uses a process together with others (isolation.md): its requests
// go there as they are, but that has one log level and one set of subscriptions for all of them, so that what
// this session wants to hear of is kept here.
//
// Owned by the ModernBridge from open_scope to close_scope, retired at the end of the loop turn.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/bridge_call.h"
#include "bridge/bridge_listen.h"
#include "config/config.h"
#include "core/upstream.h"
#include "mcp/modern_server.h"
#include "net/loop.h"

namespace lineward::upstream {

class BridgeSession;

// What a session needs from its bridge.
class BridgeOwner {
 public:
  virtual net::Loop& loop() = 0;
  virtual core::Upstream& inner() = 0;
  virtual const config::Server& server() const = 0;
  // The server took this session's own `initialize`, and keeps all of it: nothing is left to do here.
  virtual void serves_itself(const std::string& session) = 0;
  // The server refused one; `for_good` where it said that it does not know the old revisions.
  virtual void learned_modern_only(bool for_good) = 0;

 protected:
  ~BridgeOwner() = default;
};

class BridgeSession final : public core::ScopeOwner {
 public:
  // `half_open_probe`: the server gets the client's own `initialize` first, since it may speak the old
  // revisions itself. No circuit is meant.
  BridgeSession(BridgeOwner& bridge, core::Scope scope, core::ScopeOwner& owner, bool half_open_probe);
  ~BridgeSession();
  BridgeSession(const BridgeSession&) = delete;
  BridgeSession& operator=(const BridgeSession&) = delete;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner);
  // With the client's headers that may go on. `by`: who says it, where somebody may ask (core::Scope).
  void forward(const mcp::Message& message, const core::HeaderFields& headers = {},
               const core::ClientRequestPtr& by = nullptr);
  // Ends everything; nobody is told anything after it.
  void close(const core::Failure& why);
  // The server was given the client's own `initialize`, and it is not known yet who serves the session.
  bool half_open_probe() const { return probing_; }
  // All it says is translated: below there is no such session.
  bool is_bridged() const { return !probing_ && !shares_; }

  // For its calls.
  net::Loop& loop() { return bridge_.loop(); }
  core::Upstream& inner() { return bridge_.inner(); }
  const mcp::LegacyClient& client() const { return client_; }
  // As whom it asks the modern server: what a process keeps for it is told by its session.
  core::Scope modern_scope() const { return {{}, scope_.principal, scope_.session}; }
  uint64_t joined(BridgeCall& call) {
    calls_[next_call_] = &call;
    return next_call_++;
  }
  void left(BridgeCall& call);
  // A request is on its way to the server, or was answered here.
  void sent_or_answered();
  void taken_by_server(const core::CallRequest& request);
  // The server's answer to this session's own `initialize` is good, and counts.
  void serves_itself(const mcp::Message& answer, bool has_session);
  void learned_modern_only(bool for_good) { bridge_.learned_modern_only(for_good); }
  void begin_bridging();
  // The answer to `initialize`; nothing when the server's is unusable.
  std::optional<std::string> discovered(const mcp::Message& answer);
  std::optional<json::Text> project(const core::CallRequest& request, const mcp::Message& answer);
  int64_t new_question(BridgeCall& call);
  std::string new_elicitation_id(const mcp::InputRequest& request);
  void to_client(mcp::Message message, std::optional<uint64_t> tag);
  // Answers a question in the client's place: it did not declare what that takes.
  void refuse_question(const mcp::Message& question, const std::string& capability);
  void withdraw(int64_t question, std::string_view why, uint64_t tag);

 private:
  // core::ScopeOwner, where several servers are behind that have processes of this session's own.
  void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) override;
  void client_is_there();
  void on_scope_reset() override {}  // of one among several: what it asked is taken back by name
  bool is_lived_in() const override { return owner_ != nullptr && owner_->is_lived_in(); }

  Result<std::unique_ptr<core::Call>, core::Failure> start_as_it_is(core::CallRequest&& request,
                                                                    core::CallOwner& owner);
  void want_lists();
  BridgeCall* find(uint64_t serial) const;
  bool handled_here(BridgeCall& call);
  void set_level(BridgeCall& call);
  bool keep_level(std::string level);
  void subscription(BridgeCall& call, bool wanted);
  void finish_later(BridgeCall& call, std::string text);
  void refuse_later(BridgeCall& call, int code, std::string_view text);

  BridgeOwner& bridge_;
  core::Scope scope_;
  core::ScopeOwner* owner_;  // null once closed
  // What servers behind say before the client has said that it is initialised.
  struct Early {
    mcp::Message message;
    std::optional<uint64_t> only_call;
  };
  std::vector<Early> early_;
  HeldBytes early_bytes_{Held::sessions};
  bool is_initialized_ = false;
  bool probing_;
  bool shares_ = false;  // a legacy server's process, with others
  mcp::LegacyClient client_;
  std::optional<mcp::ModernServer> server_;
  HeldBytes client_bytes_{Held::sessions}, server_bytes_{Held::servers};
  mcp::WrappedTools wrapped_;
  BridgeListen listen_;
  std::map<uint64_t, BridgeCall*> calls_;  // live, by serial number
  std::map<int64_t, BridgeCall*> questions_;
  uint64_t next_call_ = 1;
  int64_t next_question_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
