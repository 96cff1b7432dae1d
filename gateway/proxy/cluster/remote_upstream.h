// A server on another worker, as callers on this one see it: an upstream that exchanges its calls with the
// server's RemoteCallServer by messages. Its state is the one last reported.
//
// Has only the functions that an aggregate needs of its members: calls, notifications, the server's state,
// and sessions. The bridge in front of the aggregate keeps these sessions.
//
// Lives, with its calls, on one thread. Messages refer to calls by numbers that are never reused, so messages
// for an ended call are dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "foundation/net/loop.h"
#include "proxy/cluster/remote_call_server.h"
#include "proxy/cluster/remote_handle.h"
#include "proxy/core/upstream.h"

namespace lineward::cluster {

class RemoteCall;

// The calls of one RemoteUpstream, by number: receives the messages for them.
class RemoteCallTable {
 public:
  RemoteCallTable(std::string server, RemoteHandle<RemoteCallServer> call_server)
      : server_(std::move(server)), call_server_(std::move(call_server)) {}

  void on_phase(uint64_t number, core::CallPhase phase);
  void on_repeated(uint64_t number);
  void on_request(uint64_t number, core::Coalesced coalesced);
  void on_message(uint64_t number, RemoteMessage told);
  void on_failed(uint64_t number, const core::Failure& failure, std::optional<mcp::Era> era);
  // For a session that is open there (core::Scope::bridged_session).
  void on_scope_message(const std::string& session, RemoteMessage told, std::optional<uint64_t> only_call);
  void on_scope_reset(const std::string& session);
  // Its server's worker asks whether the session's client is gone.
  void on_scope_presence(const std::string& session);
  void on_state(RemoteState state) { state_ = std::move(state); }
  void on_described() {
    if (described_) described_();
  }

  const std::string& server() const { return server_; }
  const RemoteHandle<RemoteCallServer>& call_server() const { return call_server_; }
  const RemoteState& state() const { return state_; }

 private:
  friend class RemoteCall;
  friend class RemoteUpstream;
  RemoteCall* find(uint64_t number);

  const std::string server_;
  const RemoteHandle<RemoteCallServer> call_server_;
  RemoteState state_;
  std::function<void()> described_;
  std::unordered_map<uint64_t, RemoteCall*> calls_;  // live ones
  uint64_t numbers_ = 0;
  std::unordered_map<std::string, core::ScopeCallbacks*> scopes_;
};

class RemoteUpstream final : public core::Upstream {
 public:
  // `here`: this thread's own mailbox.
  RemoteUpstream(net::Loop& loop, std::shared_ptr<net::Mailbox> here, std::string name,
                 RemoteHandle<RemoteCallServer> call_server, RemoteState state);
  ~RemoteUpstream() override;

  // The server's current state, from code that can read it directly.
  void use(RemoteState state) { table_->on_state(std::move(state)); }
  // As in RememberingUpstream. `described` may be called as long as this lives.
  void on_described(std::function<void()> described) { table_->described_ = std::move(described); }

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  void open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) override;
  void close_scope(const core::Scope& scope) override;
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) override;
  core::ServerFacts facts() const override { return {table_->state().era}; }
  core::UpstreamStatus status() const override { return table_->state().status; }
  void notice(core::UpstreamNotice what) override;
  // Its calls are over: they no longer keep the server.
  void stop(std::function<void()> done) override;

 private:
  net::Loop& loop_;
  const std::shared_ptr<RemoteCallTable> table_;
  const RemoteHandle<RemoteCallTable> here_;
  bool stopping_ = false;
};

}  // namespace lineward::cluster
