#include "proxy/upstream/bridge/modern_bridge.h"

#include "foundation/log/log.h"

namespace lineward::upstream {

using mcp::EndReason;
using std::chrono::milliseconds;

namespace {

// A server that failed during an `initialize` may have had another reason: it is tried again after this.
constexpr milliseconds kDoubt{10ll * 60 * 1000};

}  // namespace

ModernBridge::ModernBridge(net::Loop& loop, std::unique_ptr<core::Upstream> inner,
                           const config::Server& server)
    : PassingUpstream(std::move(inner)), loop_(loop), server_(server) {
  if (server.protocol_era == config::Era::modern) learned_modern_only(true);
}

ModernBridge::~ModernBridge() {
  lifetime_.end();
  sessions_.clear();  // their listens are calls of the inner upstream
}

BridgeSession* ModernBridge::find(const std::string& session) {
  auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : found->second.get();
}

Result<std::unique_ptr<core::Call>, core::Failure> ModernBridge::start(core::UpstreamRequest&& request,
                                                                       core::CallCallbacks& owner) {
  if (request.client_era == mcp::Era::modern || request.scope.session.empty())
    return inner_->start(std::move(request), owner);
  BridgeSession* session = find(request.scope.session);
  if (session == nullptr) return inner_->start(std::move(request), owner);
  if (stopping_) {
    return Unexpected<core::Failure>{{EndReason::cancelled_drain, "the gateway is stopping"}};
  }
  return session->start(std::move(request), owner);
}

void ModernBridge::open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) {
  if (scope.session.empty()) return inner_->open_scope(scope, owner);  // another bridge keeps it
  bool fixed_legacy = server_.protocol_era == config::Era::legacy;
  bool bridged = loop_.now() < modern_only_until_ && inner_->era() == mcp::Era::modern;
  if (!bridged) inner_->open_scope(scope, owner);
  if (fixed_legacy && config::is_of_one_session(server_.isolation)) return;
  sessions_[scope.session] = std::make_unique<BridgeSession>(*this, scope, owner, !bridged);
  if (bridged) log::write(log::Level::debug, "session.bridged", {{"upstream", name()}});
}

void ModernBridge::close_scope(const core::Scope& scope) {
  BridgeSession* session = find(scope.session);
  if (session == nullptr || !session->is_bridged()) inner_->close_scope(scope);
  drop(scope.session);
}

// No other process can continue a session that the bridge keeps.
core::UpstreamParts ModernBridge::parts(const core::Scope& scope) {
  core::UpstreamParts parts = inner_->parts(scope);
  BridgeSession* session = find(scope.session);
  if (session != nullptr && session->is_bridged()) parts.portable = nullptr;
  return parts;
}

// A session in front of a modern server is kept here, even if the server also serves legacy clients one
// request at a time (BridgeCall::look_for_better).
core::ServerFacts ModernBridge::facts() const {
  core::ServerFacts facts = inner_->facts();
  if (facts.era == mcp::Era::modern) facts.keeps_sessions = true;
  return facts;
}

void ModernBridge::drop(const std::string& id) {
  auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  std::unique_ptr<BridgeSession> session = std::move(found->second);
  sessions_.erase(found);
  session->close({EndReason::cancelled_drain, "its session ended"});
  loop_.retire(std::move(session));
}

void ModernBridge::learned_modern_only(bool for_good) {
  modern_only_until_ = for_good ? milliseconds::max() : loop_.now() + kDoubt;
}

// The call that brought the answer is on the stack.
void ModernBridge::serves_itself(const std::string& session) {
  loop_.defer(lifetime_, [this, session] { drop(session); });
}

void ModernBridge::send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
                        const core::HeaderFields& headers) {
  BridgeSession* session = client_era == mcp::Era::legacy ? find(scope.session) : nullptr;
  if (session != nullptr) return session->forward(message, headers, scope.by);
  inner_->send(scope, client_era, message, headers);
}

void ModernBridge::stop(std::function<void()> done) {
  stopping_ = true;
  for (auto& entry : sessions_) {
    if (!entry.second->half_open_probe())
      entry.second->close({EndReason::cancelled_drain, "the gateway is stopping"});
  }
  PassingUpstream::stop(std::move(done));
}

}  // namespace lineward::upstream
