#include "proxy/exchange/session_links.h"

#include <utility>

#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"

namespace lineward::exchange {

using mcp::EndReason;
using mcp::Field;

SessionLink* SessionLinks::link(const std::string& session) const {
  auto found = links_.find(session);
  return found == links_.end() ? nullptr : found->second.get();
}

ServerRef SessionLinks::lease(const std::string& session) const {
  const SessionLink* with = link(session);
  return with == nullptr ? ServerRef() : with->lease();
}

size_t SessionLinks::count_of(const core::Upstream& upstream) const {
  size_t count = 0;
  for (const auto& [id, link] : links_)
    count += &link->upstream() == &upstream ? 1 : 0;
  return count;
}

client::Session* SessionLinks::session(const std::string& id) {
  return sessions_ != nullptr && !id.empty() ? sessions_->find(id) : nullptr;
}

std::string_view SessionLinks::client_info(const std::string& id) {
  const client::Session* owner = session(id);
  return owner != nullptr ? std::string_view(owner->client_info) : std::string_view();
}

// ---- calls ----

void SessionLinks::exchange_began(const Exchange& exchange) {
  if (client::Session* owner = session(exchange.from().session)) ++owner->exchanges;
}

void SessionLinks::exchange_ended(const Exchange& exchange) {
  const std::string& id = exchange.from().session;
  if (id.empty()) return;
  client::Session* owner = session(id);
  if (owner == nullptr) return exchanges_.session_over(id);
  --owner->exchanges;
  // The server has accepted these credentials.
  if (exchange.server_answer() == ServerAnswer::result) owner->accepted(exchange.from().authorization);
  sessions_->touch(*owner);
  // With its last call ends a session of a server that a reload removed, and one without a usable id.
  const SessionLink* with = link(id);
  const bool retiring = with != nullptr && with->lease()->retiring;
  if (owner->exchanges == 0 && (retiring || owner->ends_when_idle)) session_lost(id);
}

void SessionLinks::exchange_ending(const Exchange& exchange) {
  if (exchange.from().session.empty()) return;
  if (SessionLink* with = link(exchange.from().session))
    with->exchange_ending(exchange.id(), exchange.server_answer() != ServerAnswer::none);
}

void SessionLinks::task_started(const Exchange& exchange, std::string_view token,
                                const std::string& client_token) {
  if (client::Session* owner = session(exchange.from().session)) owner->task_started();
  SessionLink* with = link(exchange.from().session);
  if (with != nullptr && !client_token.empty()) with->task_started(token, client_token);
}

bool SessionLinks::answered(const std::string& id, const mcp::Message& answer, core::AnswerCame came) {
  SessionLink* with = link(id);
  if (with == nullptr) return false;
  if (came == core::AnswerCame::here) return with->answer(answer);
  with->answered_elsewhere(answer);
  return false;
}

std::optional<std::string> SessionLinks::judge(const core::Scope& scope, mcp::Message& message) {
  const client::Session* to = session(scope.session);
  const std::string none;
  return judge_of_server(plugins_, to == nullptr ? none : to->upstream, to == nullptr ? none : to->listener,
                         scope, message);
}

// ---- opening and ending ----

bool SessionLinks::open(const Exchange& exchange) {
  const core::ClientRequest& from = exchange.from();
  if (!exchange.lease() || from.session.empty()) return true;
  // The upstream holds a reference to the existing link.
  if (links_.count(from.session) > 0) return false;
  if (client::Session* opening = session(from.session))
    opening->client_info = exchange.record().client_info();
  core::Scope scope{from.session, from.principal, {}};
  auto& link = links_[from.session];
  link = std::make_unique<SessionLink>(*this, exchange.lease(), scope);
  link->upstream().open_scope(scope, *link);
  return true;
}

void SessionLinks::opened(const Exchange& exchange, const mcp::Message* result) {
  const std::string& id = exchange.from().session;
  client::Session* opened = session(id);
  if (opened == nullptr) return;
  if (result == nullptr) return session_lost(id);  // it was never created
  opened->revision = log::Excerpt(result->text(Field::result_protocol_version), 64).string();
  opened->accepted(exchange.from().authorization);
  if (shares_sessions_) share(*opened, exchange.from().authorization);
  log::write(log::Level::info, "session.open",
             {{"session", id.substr(0, 8)}, {"upstream", opened->upstream}, {"revision", opened->revision}});
}

void SessionLinks::end(const std::string& id) {
  client::Session* ending = session(id);
  if (ending == nullptr) return;
  // `id` may refer into an object that is destroyed below.
  const std::string session_id = id;  // NOLINT(performance-unnecessary-copy-initialization)
  if (!ending->revision.empty()) {
    metrics::stats().server_sessions[metrics::revision_slot(ending->revision)].observe(loop_.now() -
                                                                                       ending->opened);
  }
  log::write(log::Level::info, "session.close",
             {{"session", session_id.substr(0, 8)}, {"upstream", ending->upstream}});
  for (Exchange* exchange : exchanges_.of_session(session_id)) {
    exchange->cancel(EndReason::cancelled_client, "the session ended");
    exchange->client_left(EndReason::cancelled_client);  // for an `initialize`, which ignores cancel()
  }
  auto link = links_.find(session_id);
  if (link != links_.end()) {
    close_scope(*ending, *link->second);
    loop_.retire(std::move(link->second));
    links_.erase(link);
  }
  sessions_->remove(session_id);
  exchanges_.session_over(session_id);
}

// Deferred: the call that learnt of it may be on the stack, and must get its message first.
void SessionLinks::session_lost(const std::string& id) {
  loop_.defer(lifetime_, [this, id] {
    if (session(id) == nullptr) return;
    for (Exchange* exchange : exchanges_.of_session(id))
      exchange->cancel(EndReason::upstream_protocol, "the server has ended this session; initialize again");
    end(id);
  });
}

void SessionLinks::end_idle_of(const ServerRef& retired, Retirement how) {
  if (sessions_ == nullptr) return;
  for (const std::string& id : sessions_->ids()) {
    const client::Session* one = session(id);
    const SessionLink* with = link(id);
    bool its = with != nullptr ? with->lease().get() == retired.get()
                               : how == Retirement::removed &&
                                     one->upstream == retired.upstream().name();  // not initialised yet
    if (its && one->exchanges == 0) session_lost(id);
  }
}

// ---- sessions that other replicas may serve too ----

// Called before the client gets the session id: from here on no state may be local to this process. A session
// opened by Lineward itself is local, since no client gets its id, and ends with its connection.
void SessionLinks::share(client::Session& opened, size_t authorization) {
  SessionLink* with = link(opened.id);
  if (with == nullptr || opened.tied || opened.by_gateway) return;
  const core::Scope& scope = with->scope();
  core::PortableScopes* scopes = with->upstream().parts(scope).portable;
  auto state = scopes != nullptr ? scopes->share_scope(scope) : std::nullopt;
  if (!state) return;
  state->authorization = authorization;
  opened.share(std::move(*state));
}

core::Adoption SessionLinks::adopt(const std::string& id, const core::ScopeState& state) {
  client::Session* adopted = session(id);
  ServerRef lease = adopted != nullptr ? servers_.lease(adopted->upstream) : ServerRef();
  if (!lease || links_.count(id) > 0) return core::Adoption::refused;
  core::Scope scope{id, adopted->principal, {}};
  core::PortableScopes* scopes = lease.upstream().parts(scope).portable;
  if (scopes == nullptr) return core::Adoption::refused;
  auto link = std::make_unique<SessionLink>(*this, std::move(lease), scope);
  const core::Adoption outcome = scopes->adopt_scope(scope, *link, state);
  if (outcome != core::Adoption::done) return outcome;
  links_[id] = std::move(link);
  adopted->revision = state.revision;
  adopted->accepted(state.authorization.value_or(client::Session::kNobodys));
  adopted->share(state);
  return outcome;
}

void SessionLinks::stream_opened(const std::string& id, const core::HeaderFields& headers) {
  SessionLink* with = link(id);
  if (with == nullptr) return;
  const core::Scope& scope = with->scope();
  if (auto* scopes = with->upstream().parts(scope).portable) scopes->open_stream(scope, headers);
}

void SessionLinks::stream_closed(const std::string& id) {
  SessionLink* with = link(id);
  if (with == nullptr) return;
  const core::Scope& scope = with->scope();
  if (auto* scopes = with->upstream().parts(scope).portable) scopes->close_stream(scope);
}

void SessionLinks::when_settled(const std::string& id, std::function<void()> done) {
  SessionLink* with = link(id);
  if (with == nullptr) return;
  const core::Scope& scope = with->scope();
  if (auto* scopes = with->upstream().parts(scope).portable) scopes->when_settled(scope, std::move(done));
}

// A shared session ends only by its client's DELETE; otherwise this replica just forgets it.
void SessionLinks::close_scope(const client::Session& ending, SessionLink& link) {
  core::Upstream& upstream = link.upstream();
  core::PortableScopes* scopes =
      ending.shared() != nullptr && !ending.deleted ? upstream.parts(link.scope()).portable : nullptr;
  scopes != nullptr ? scopes->leave_scope(link.scope()) : upstream.close_scope(link.scope());
}

}  // namespace lineward::exchange
