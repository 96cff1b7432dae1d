// Sessions that other replicas may serve too (docs/replicas.md): a part of exchange/exchange_table.h.
#include "exchange/exchange_table.h"

namespace lineward::exchange {

// Before its client is told the id: from here on nothing of the session may be known to this process alone.
void ExchangeTable::share(client::Session& opened) {
  auto link = links_.find(opened.id);
  if (link == links_.end() || opened.tied) return;
  const core::Scope& scope = link->second->scope();
  core::PortableScopes* scopes = link->second->upstream().portable(scope);
  auto state = scopes != nullptr ? scopes->share_scope(scope) : std::nullopt;
  if (state) opened.share(std::move(*state));
}

bool ExchangeTable::adopt_session(const std::string& id, const core::ScopeState& state) {
  client::Session* adopted = session(id);
  Lease lease = adopted != nullptr ? servers_.lease(adopted->upstream) : Lease();
  if (!lease || links_.count(id) > 0) return false;
  core::Scope scope{id, adopted->principal, {}};
  core::PortableScopes* scopes = lease.upstream().portable(scope);
  if (scopes == nullptr) return false;
  auto link = std::make_unique<SessionLink>(*this, std::move(lease), scope);
  if (!scopes->adopt_scope(scope, *link, state)) return false;
  links_[id] = std::move(link);
  adopted->revision = state.revision;
  adopted->share(state);
  return true;
}

void ExchangeTable::session_stream(const std::string& id, bool open, const core::HeaderFields& headers) {
  auto link = links_.find(id);
  if (link == links_.end()) return;
  const core::Scope& scope = link->second->scope();
  if (auto* scopes = link->second->upstream().portable(scope)) scopes->want_stream(scope, open, headers);
}

void ExchangeTable::when_settled(const std::string& id, std::function<void()> done) {
  auto link = links_.find(id);
  if (link == links_.end()) return;
  const core::Scope& scope = link->second->scope();
  if (auto* scopes = link->second->upstream().portable(scope)) scopes->when_settled(scope, std::move(done));
}

// One that others may serve ends when its client says so, and else is only forgotten here.
void ExchangeTable::close_scope(const client::Session& ending, SessionLink& link) {
  core::Upstream& upstream = link.upstream();
  core::PortableScopes* scopes =
      ending.shared() != nullptr && !ending.deleted ? upstream.portable(link.scope()) : nullptr;
  scopes != nullptr ? scopes->leave_scope(link.scope()) : upstream.close_scope(link.scope());
}

}  // namespace lineward::exchange
