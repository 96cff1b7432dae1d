// An upstream in front of an upstream: where the server speaks 2026-07-28 only, legacy clients are served by
// translation (behaviour.md 10). Everything else passes straight through.
//
// A server that speaks both eras does not declare that in `server/discover` (SDK servers list modern versions
// only). So a session's own `initialize` is sent to it first; a modern server that refuses it is remembered
// as modern-only. `protocolEra: modern` skips this. If sessions share a legacy server's process
// (`isolation`), each session's log level and subscriptions are kept here as well.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/upstream/bridge/bridge_session.h"

namespace lineward::upstream {

class ModernBridge final : public core::PassingUpstream {
 public:
  ModernBridge(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server);
  ~ModernBridge() override;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  void open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) override;
  void close_scope(const core::Scope& scope) override;
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) override;
  core::ServerFacts facts() const override;
  core::UpstreamParts parts(const core::Scope& scope) override;
  void stop(std::function<void()> done) override;

  // For its sessions.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  const config::Server& server() const { return server_; }
  // The server accepted this session's own `initialize`, and keeps the whole session: its object is no longer
  // needed.
  void serves_itself(const std::string& session);
  // The server refused an `initialize`; `for_good` if it stated that it does not know the legacy revisions.
  void learned_modern_only(bool for_good);

 private:
  BridgeSession* find(const std::string& session);
  void drop(const std::string& session);

  net::Loop& loop_;
  const config::Server& server_;
  // Sessions that are bridged, that share a process, or with an `initialize` in progress.
  std::unordered_map<std::string, std::unique_ptr<BridgeSession>> sessions_;
  std::chrono::milliseconds modern_only_until_{0};
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
