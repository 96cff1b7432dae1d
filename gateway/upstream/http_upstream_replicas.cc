// The part of HttpUpstream that lets other replicas serve its clients' sessions, and goes on with theirs
// (core/portable_scopes.h).
#include <sys/random.h>

#include "base/check.h"
#include "base/log.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {

// A session of several clients is initialised by this process, and HTTP+SSE ends with its stream.
core::PortableScopes* HttpUpstream::portable(const core::Scope&) {
  bool own =
      server_.isolation == config::Isolation::automatic || server_.isolation == config::Isolation::session;
  return own && !sse_ && !stopping_ ? this : nullptr;
}

// Several processes make calls in one session, and the server knows calls by their ids: each process counts
// from a place of its own. Ids stay below 2^53.
void HttpUpstream::share_ids() {
  if (std::exchange(ids_shared_, true)) return;
  uint32_t place = 0;
  LW_CHECK(getrandom(&place, sizeof place, 0) == sizeof place);
  next_id_ = (int64_t{place} + 1) << 20;
}

std::optional<core::ScopeState> HttpUpstream::share_scope(const core::Scope& scope) {
  SessionGroup* group = groups_->of_client(scope);
  if (group == nullptr || !group->session || group->session->state() != HttpSession::State::ready ||
      group->session->over_sse()) {
    return std::nullopt;
  }
  share_ids();
  group->session->be_shared(true);
  return core::ScopeState{group->session->id(), group->session->legacy_server().revision};
}

bool HttpUpstream::adopt_scope(const core::Scope& scope, core::ScopeOwner& owner,
                               const core::ScopeState& state) {
  SessionPlan plan = planner_.plan(scope);
  if (!plan.initialize_params.empty() || groups_->find(plan.key) != nullptr) return false;
  if (groups_->is_full()) return false;
  share_ids();
  SessionGroup& group = groups_->get(plan);
  group.scope = &owner;
  group.opened();
  groups_->open_session(group, false);
  group.session->adopt(state.server_session, state.revision);
  log::write(log::Level::info, "session.adopted",
             {{"upstream", server_.name}, {"session", scope.session.substr(0, 8)}});
  return true;
}

void HttpUpstream::want_stream(const core::Scope& scope, bool wanted, const core::HeaderFields& headers) {
  SessionGroup* group = groups_->of_client(scope);
  if (group == nullptr || !group->session) return;
  if (wanted) group->session->remember(lasting_headers(forwarded_headers(server_, headers)));
  group->session->want_stream(wanted);
}

void HttpUpstream::when_settled(const core::Scope& scope, std::function<void()> done) {
  SessionGroup* group = groups_->of_client(scope);
  if (group != nullptr && group->session) return group->session->when_settled(std::move(done));
  loop_.defer(std::move(done));
}

void HttpUpstream::leave_scope(const core::Scope& scope) {
  SessionGroup* group = groups_->of_client(scope);
  if (group == nullptr) return;
  if (group->session) group->session->be_shared(true);
  close_group(*group, "its session is served elsewhere");
}

}  // namespace lineward::upstream
