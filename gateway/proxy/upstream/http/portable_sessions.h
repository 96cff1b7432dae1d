// Sessions with an HTTP server that other replicas serve too: shares those of local clients, and adopts those
// of others (proxy/core/portable_scopes.h).
//
// Owned by an HttpUpstream, beside its groups and ids. If a session cannot be shared or adopted, the result
// is nullopt or false. No callbacks before a function returns.
#pragma once

#include "proxy/core/portable_scopes.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http/request_ids.h"
#include "proxy/upstream/http/session_groups.h"
#include "proxy/upstream/http/session_plan.h"

namespace lineward::upstream {

class PortableSessions final : public core::PortableScopes {
 public:
  explicit PortableSessions(const HttpParts& parts)
      : loop_(parts.loop),
        server_(parts.server),
        groups_(parts.groups),
        planner_(parts.planner),
        ids_(parts.ids) {}

  std::optional<core::ScopeState> share_scope(const core::Scope& scope) override;
  bool adopt_scope(const core::Scope& scope, core::ScopeCallbacks& owner,
                   const core::ScopeState& state) override;
  void open_stream(const core::Scope& scope, const core::HeaderFields& headers) override;
  void close_stream(const core::Scope& scope) override;
  void when_settled(const core::Scope& scope, std::function<void()> done) override;
  void leave_scope(const core::Scope& scope) override;

 private:
  net::Loop& loop_;
  const config::Server& server_;
  SessionGroups& groups_;
  SessionPlanner& planner_;
  RequestIds& ids_;
};

}  // namespace lineward::upstream
