#include "proxy/upstream/http/portable_sessions.h"

#include <utility>

#include "foundation/log/log.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {

std::optional<core::ScopeState> PortableSessions::share_scope(const core::Scope& scope) {
  SessionGroup* group = groups_.of_client(scope);
  if (group == nullptr || !group->is_ready() || group->session()->over_sse()) {
    return std::nullopt;
  }
  ids_.share();
  group->session()->stream().share();
  return core::ScopeState{group->session()->credentials().id(), group->session()->legacy_server().revision};
}

bool PortableSessions::adopt_scope(const core::Scope& scope, core::ScopeCallbacks& owner,
                                   const core::ScopeState& state) {
  SessionPlan plan = planner_.plan(scope);
  if (!plan.initialize_params.empty() || groups_.find(plan.key) != nullptr) return false;
  if (groups_.is_full()) return false;
  ids_.share();
  SessionGroup& group = groups_.get(plan);
  group.set_scope(&owner);
  group.opened();
  groups_.open_session(group, HttpSession::Transport::streamable_http);
  group.session()->adopt(state.server_session, state.revision);
  log::write(log::Level::info, "session.adopted",
             {{"upstream", server_.name}, {"session", scope.session.substr(0, 8)}});
  return true;
}

void PortableSessions::open_stream(const core::Scope& scope, const core::HeaderFields& headers) {
  SessionGroup* group = groups_.of_client(scope);
  if (group == nullptr || !group->session()) return;
  group->session()->credentials().remember(lasting_headers(forwarded_headers(server_, headers)));
  group->session()->stream().want();
}

void PortableSessions::close_stream(const core::Scope& scope) {
  SessionGroup* group = groups_.of_client(scope);
  if (group != nullptr && group->session()) group->session()->stream().let_go();
}

void PortableSessions::when_settled(const core::Scope& scope, std::function<void()> done) {
  SessionGroup* group = groups_.of_client(scope);
  if (group != nullptr && group->session()) return group->session()->when_settled(std::move(done));
  loop_.defer(std::move(done));
}

void PortableSessions::leave_scope(const core::Scope& scope) {
  SessionGroup* group = groups_.of_client(scope);
  if (group == nullptr) return;
  if (group->session()) group->session()->stream().share();
  groups_.close(*group, "its session is served elsewhere");
}

}  // namespace lineward::upstream
