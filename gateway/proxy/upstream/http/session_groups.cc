#include "proxy/upstream/http/session_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/log/log.h"
#include "protocol/mcp/legacy_server.h"
#include "protocol/mcp/methods.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/http/handshake_revision.h"
#include "proxy/upstream/http/http_call_table.h"
#include "proxy/upstream/http/origin_set.h"
#include "proxy/upstream/http/question_slots.h"
#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/shared/server_era.h"
#include "proxy/upstream/shared/shared_server.h"
#include "proxy/upstream/shared/shown_group.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Method;

constexpr std::chrono::milliseconds kReapInterval{5000};
// A session with calls stays at a removed origin for this long.
constexpr std::chrono::milliseconds kLeaveLimit{30000};

// Its session may be closed for another: it has no calls, and no listens that need it.
bool may_make_room(const SessionGroup& group) {
  const bool is_needed = group.listens_here && group.listens.need_server();
  return !group.has_calls() && !is_needed && group.scope() == nullptr;
}

// It was for a single call, which is over. A session without its id yet could not be ended.
bool is_served(const SessionGroup& group) {
  const HttpSession* session = group.session();
  const bool opening = session != nullptr && session->state() == HttpSession::State::opening;
  return group.per_call && !group.is_busy() && !opening;
}

}  // namespace

SessionGroups::SessionGroups(const HttpParts& parts)
    : parts_(parts),
      loop_(parts.loop),
      server_(parts.server),
      calls_(parts.calls),
      speaks_sse_(parts.server.type == config::ServerType::sse),
      reaper_(parts.loop) {
  reaper_.start(kReapInterval, [this] { reap(); });
}

void SessionGroups::stop() {
  stopping_ = true;
  reaper_.stop();
}

void SessionGroups::clear() {
  found_last_ = nullptr;
  groups_.clear();
}

SessionGroup* SessionGroups::find(const std::string& key) {
  if (found_last_ != nullptr && found_last_->key == key) return found_last_;
  auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : found_last_ = found->second.get();
}

SessionGroup& SessionGroups::get(const SessionPlan& plan) {
  if (SessionGroup* group = find(plan.key)) return *group;
  auto& family = families_[plan.family.empty() ? plan.key : plan.family];
  if (!family) family = std::make_unique<Family>();
  ++family->groups;
  auto made = std::make_unique<SessionGroup>(loop_, server_, plan, family->listens);
  if (plan.plain) {
    open_session(*made, HttpSession::Transport::streamable_http).adopt({}, {});
  }
  SessionGroup& group = *(groups_[plan.key] = std::move(made));
  if (group.wants_pump()) want(group);  // its family's listens already exist
  return group;
}

// Lineward's own sessions are limited, and so are the session objects for a server without sessions, one per
// credentials. The least recently used idle one makes room. Clients' sessions are limited by
// `listen.maxSessions`.
bool SessionGroups::has_room(const SessionPlan& plan) {
  const bool of_session = plan.bridged || (plan.initialize_params.empty() && !plan.plain);
  if (of_session) return true;
  if (find(plan.slots() == 0 ? plan.key : fmt::format("{}#1", plan.key)) != nullptr) return true;
  size_t sessions = 0;
  SessionGroup* oldest = nullptr;
  for (auto& [key, group] : groups_) {
    if (group->bridged || (!group->own_handshake && !group->plain)) continue;
    ++sessions;
    if (may_make_room(*group) && (oldest == nullptr || group->last_used() < oldest->last_used()))
      oldest = group.get();
  }
  if (sessions < server_.limits.max_gateway_sessions) return true;
  if (oldest == nullptr) return false;
  // If the server keeps no sessions, no state is lost.
  log::write(oldest->plain ? log::Level::debug : log::Level::info, "upstream.evict",
             {{"upstream", server_.name}, {"group", shown_group(oldest->key)}});
  close(*oldest, "made room for another");
  return true;
}

std::vector<std::string> SessionGroups::keys() const {
  std::vector<std::string> all;
  for (const auto& entry : groups_)
    all.push_back(entry.first);
  return all;
}

std::optional<std::chrono::milliseconds> SessionGroups::next_apart() const {
  std::optional<std::chrono::milliseconds> next;
  for (const auto& [key, group] : groups_) {
    if (group->is_apart()) next = std::min(next.value_or(group->apart_until()), group->apart_until());
  }
  return next;
}

void SessionGroups::reap() {
  reaper_.start(kReapInterval, [this] { reap(); });
  std::vector<std::string> idle;
  for (auto& [key, group] : groups_) {
    LW_DEBUG_CHECK(ReadyQueue<SessionGroup>::contains(*group) || !group->wants_pump());
    if (!group->is_busy() && loop_.now() - group->last_used() > server_.instance_idle) idle.push_back(key);
  }
  for (const auto& key : idle) {
    if (SessionGroup* group = find(key)) close(*group, "was idle");
  }
  leave_closed_origins();
}

// ---- several origins ----

bool SessionGroups::open_elsewhere(HttpSession& session) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return false;
  group->tried |= session.origin().bit();
  if (parts_.origins.another(group->tried) == nullptr) return false;
  close_session(*group);
  parts_.pump.schedule();
  return true;
}

bool SessionGroups::open_elsewhere(HttpCall& call, SessionGroup& group) {
  group.tried |= group.session()->origin().bit();
  if (parts_.origins.another(group.tried) == nullptr) return false;
  open_again(call, group, HttpSession::Transport::streamable_http);
  return true;
}

void SessionGroups::leave_closed_origins() {
  if (!parts_.origins.has_closed()) return;
  for (const auto& key : keys()) {
    SessionGroup* group = find(key);
    HttpSession* session = group != nullptr ? group->session() : nullptr;
    if (session == nullptr || !session->is_ready() || !session->origin().is_closed()) continue;
    const auto leaving = session->origin().leaving;
    if (!leaving && group->scope() != nullptr) continue;
    if (!group->has_calls()) {
      leave_origin(*group);
    } else if (leaving && loop_.now() - *leaving > kLeaveLimit) {
      session->lost();
    }
  }
}

// As after a lost session, but its server is told.
void SessionGroups::leave_origin(SessionGroup& group) {
  if (group.plain) return close(group, "its origin is leaving");
  const std::string key = group.key;
  core::ScopeCallbacks* scope = group.scope();
  if (scope != nullptr) scope->on_scope_reset();
  if (!group.own_handshake && group.replays()) group.revive();
  group.listens.lost(group.session());
  group.session()->end();
  close_session(group);
  if (scope != nullptr && !group.replays() && find(key) == &group) scope->on_scope_ended();
}

void SessionGroups::close(SessionGroup& group, std::string_view why) {
  calls_.tell_cancels();  // while the session exists
  group.set_scope(nullptr);
  core::Failure failure{EndReason::cancelled_drain, std::string(why)};
  auto found = groups_.find(group.key);
  if (found == groups_.end()) return;
  std::unique_ptr<SessionGroup> kept = std::move(found->second);
  groups_.erase(found);
  found_last_ = nullptr;
  wanting_.remove(*kept);
  calls_.fail_queue(*kept, failure);
  kept->listens.lost(kept->session());  // the subscriptions end with the session
  // Listens that need no session are served by the next one.
  if (kept->listens_here && (stopping_ || kept->listens.need_server())) kept->listens.fail_all(failure);
  calls_.fail_sent(*kept, failure);
  // The session ends now and is freed at the end of the turn.
  if (kept->session()) {
    kept->session()->end();
    close_session(*kept);
  }
  wanting_.remove(*kept);
  --families_[kept->family]->groups;
  let_go_family(kept->family);
  loop_.retire(std::move(kept));
}

// It has no groups and no listens any more.
void SessionGroups::let_go_family(const std::string& name) {
  auto found = families_.find(name);
  if (found == families_.end() || found->second->groups > 0 || !found->second->listens.empty()) return;
  loop_.retire(std::move(found->second));  // its listens may be on the stack
  families_.erase(found);
}

void SessionGroups::close_listen(HttpCall& call) {
  auto family = families_.find(call.family);
  if (family == families_.end()) return;
  family->second->listens.close(call);
  let_go_family(call.family);
}

// ---- groups with work ----

void SessionGroups::join(SessionGroup& group, HttpCall& call) {
  group.join(call);
  want(group);
}

void SessionGroups::want(SessionGroup& group) {
  wanting_.add(group);
  parts_.pump.schedule();
}

void SessionGroups::note_served(SessionGroup& group) {
  if (group.per_call) want(group);
}

void SessionGroups::prune_line() {
  std::vector<std::string> served;
  wanting_.keep_if([&](const SessionGroup& group) {
    if (is_served(group)) served.push_back(group.key);
    return group.wants_pump();
  });
  // The end of a group may start calls, and so end another one.
  for (const auto& key : served) {
    SessionGroup* group = find(key);
    if (group != nullptr && is_served(*group)) close(*group, "served its one call");
  }
}

size_t SessionGroups::queued() const {
  size_t sum = 0;
  for (SessionGroup* group : wanting_)
    sum += group->queue().size();
  return sum;
}

SessionGroup* SessionGroups::group_of(const HttpSession& session) {
  SessionGroup* group = find(session.group());
  return group != nullptr && group->session() == &session ? group : nullptr;
}

// ---- opening ----

bool SessionGroups::open(SessionGroup& group) {
  if (group.reopening().must_wait([this] { parts_.pump.schedule(); })) return false;
  HttpSession& session = open_session(
      group, speaks_sse_ ? HttpSession::Transport::http_sse : HttpSession::Transport::streamable_http);
  group.opened();
  if (group.exclusive) session.settle_first();
  const HttpCall* call = group.queue().first();
  session.credentials().remember(group.lasting());
  const bool clients_own =
      !group.own_handshake && call != nullptr && call->request.method == Method::initialize;
  if (!clients_own) {
    const bool is_trial = group.bridged && parts_.era.is_modern();
    const bool automatic = server_.type == config::ServerType::automatic && !is_trial;
    session.initialize(with_handshake_revision(group.facade.handshake(), parts_.era.handshake_revision()),
                       automatic ? HttpSession::IfRefused::try_http_sse : HttpSession::IfRefused::fail);
  } else if (speaks_sse_) {
    session.connect();
  }
  return true;
}

// If all workers serve this server, the sessions of all count.
bool SessionGroups::is_full() const {
  const uint64_t sessions = parts_.shared ? parts_.shared.version->sessions.load() : sessions_;
  return sessions >= server_.limits.max_sessions;
}

void SessionGroups::count_session(bool opened) {
  opened ? ++sessions_ : --sessions_;
  if (parts_.shared) opened ? ++parts_.shared.version->sessions : --parts_.shared.version->sessions;
}

HttpSession& SessionGroups::open_session(SessionGroup& group, HttpSession::Transport transport) {
  if (group.session() == nullptr) count_session(true);
  Origin* origin = parts_.origins.pick(group.tried);
  if (origin == nullptr) origin = &parts_.origins.any();
  group.replace_session(std::make_unique<HttpSession>(parts_, group.key, transport, *origin));
  return *group.session();
}

void SessionGroups::close_session(SessionGroup& group) {
  if (group.session() != nullptr) count_session(false);
  std::unique_ptr<HttpSession> session = group.replace_session(nullptr);
  if (group.wants_pump()) want(group);
  note_served(group);
  loop_.retire(std::move(session));
}

std::optional<bool> SessionGroups::keeps_sessions() const {
  if (speaks_sse_) return true;
  if (keeps_sessions_ || !parts_.shared) return keeps_sessions_;
  const auto known = parts_.shared.version->keeps_sessions.load(std::memory_order_relaxed);
  return known == SharedVersion::Sessions::unknown ? std::nullopt
                                                   : std::optional(known == SharedVersion::Sessions::kept);
}

void SessionGroups::note_keeps(std::optional<bool> sessions) {
  using Sessions = SharedVersion::Sessions;
  keeps_sessions_ = sessions;
  if (!parts_.shared) return;
  parts_.shared.version->keeps_sessions = !sessions   ? Sessions::unknown
                                          : *sessions ? Sessions::kept
                                                      : Sessions::none;
}

void SessionGroups::note_answer_of(const HttpSession& session) {
  const bool keeps = session.has_id();
  if (keeps_sessions_ == keeps) return;
  note_keeps(keeps);
  log::write(log::Level::debug, "upstream.sessions",
             {{"upstream", server_.name}, {"keeps", keeps ? "yes" : "no"}});
}

SessionGroup* SessionGroups::unused_for_long() const {
  SessionGroup* oldest = nullptr;
  for (const auto& [key, group] : groups_) {
    if (group->scope() == nullptr || !group->is_ready() || group->has_calls()) continue;
    if (group->listens_here && group->listens.need_server()) continue;
    if (group->session()->stream().is_shared()) continue;  // its client may be at another replica
    if (group->scope()->unused_for().value_or(std::chrono::milliseconds(-1)) < server_.reclaim_after)
      continue;
    if (oldest == nullptr || group->last_used() < oldest->last_used()) oldest = group.get();
  }
  return oldest;
}

// Closes a client's session that was idle for sessions.reclaimAfter. If the client cannot see a 404, Lineward
// opens a new one for its next request; otherwise the client initialises anew.
bool SessionGroups::reclaim() {
  SessionGroup* group = unused_for_long();
  if (group == nullptr) return false;
  metrics::limit_reached(metrics::Limit::server_sessions);
  log::write(log::Level::info, "upstream.evict",
             {{"upstream", server_.name},
              {"group", shown_group(group->key)},
              {"why", "its session was idle, and made room for another"}});
  core::ScopeCallbacks& scope = *group->scope();
  scope.on_scope_reset();
  group->listens.lost(group->session());
  group->session()->end();
  group->reclaimed();
  close_session(*group);
  if (!group->replays()) scope.on_scope_ended();
  return true;
}

bool SessionGroups::has_session_room() {
  if (!is_full() || reclaim()) return true;
  metrics::limit_reached(metrics::Limit::server_sessions);
  return false;
}

// An HTTP+SSE session is its stream, and needs a place for it.
std::optional<core::Failure> SessionGroups::refusal_of_another() {
  if (parts_.origins.pick() == nullptr) return parts_.origins.refusal();
  if (!has_session_room()) {
    return core::Failure{EndReason::queue_full, fmt::format("{} has {} sessions already (limits.maxSessions)",
                                                            server_.name, server_.limits.max_sessions)};
  }
  if (speaks_sse_ && !parts_.origins.has_stream_room()) {
    metrics::limit_reached(metrics::Limit::server_connections);
    return core::Failure{EndReason::queue_full,
                         fmt::format("{} has as many event streams open already as it may have "
                                     "(half of limits.maxConnections)",
                                     server_.name)};
  }
  return std::nullopt;
}

// With a single origin a session is opened in any case, and its calls wait.
bool SessionGroups::awaits_origin(const SessionGroup& group) const {
  return !group.session() && parts_.origins.are_several() && parts_.origins.full();
}

bool SessionGroups::takes(SessionGroup& group, HttpCall& call) {
  bool first = call.request.method == Method::initialize && !group.own_handshake;
  if (!group.session()) {
    if (auto full = refusal_of_another()) {
      calls_.fail_queue(group, *full);
      return false;
    }
    if (!first && !group.facade.has_handshake()) {
      calls_.fail_queue(group, {EndReason::upstream_protocol,
                                fmt::format("this session was never initialised by {}", server_.name)});
      return false;
    }
    if (!open(group)) return false;
  }
  HttpSession& session = *group.session();
  if (session.state() == HttpSession::State::lost) {
    calls_.fail_queue(group, group.session_over());
    return false;
  }
  // It is `opening` once its request is sent: until then the call may wait for a place and get here again.
  if (first && session.state() == HttpSession::State::fresh) return true;
  if (session.state() == HttpSession::State::ready && session.stream_stands() &&
      call.request.method != Method::logging_set_level) {
    session.want_level(call.request);
  }
  if (group.exclusive && mcp::may_ask(call.request.method) && !parts_.slots.may_follow(group)) return false;
  return session.takes(call);
}

bool SessionGroups::answers(SessionGroup& group, HttpCall& call) {
  if (!group.own_handshake) return false;
  if (call.request.client_era == mcp::Era::modern && call.is_listen()) {
    if (!group.session()->stream_stands()) return false;
    group.queue().take_first();
    group.listens.open(call, *group.session());
    return true;
  }
  auto answer = group.facade.answer(call.request, group.session()->legacy_server(),
                                    group.session()->initialize_result(), group.session()->level());
  if (!answer) return false;
  group.queue().take_first();
  *answer ? call.answer(std::move(**answer)) : call.fail(answer->error());
  return true;
}

// ---- HTTP+SSE, and another revision ----

void SessionGroups::on_sse_found() {
  if (std::exchange(speaks_sse_, true)) return;
  log::write(log::Level::info, "upstream.transport", {{"upstream", server_.name}, {"transport", "HTTP+SSE"}});
}

// behaviour.md 8: an `initialize` that got 400, 404 or 405 may be at a server of 2024-11-05.
bool SessionGroups::may_try_sse(const HttpCall& call, const SessionGroup* group, int status) const {
  // A known modern server does not speak HTTP+SSE.
  return !parts_.era.is_modern() && (status == 400 || status == 404 || status == 405) &&
         call.request.method == Method::initialize && server_.type == config::ServerType::automatic &&
         group != nullptr && !group->plain && !group->own_handshake && group->session() &&
         !group->session()->over_sse();
}

bool SessionGroups::finds_revision(HttpCall& call, const SessionGroup* group, const mcp::Message* answer,
                                   const MessagesEnd& end) const {
  const bool is_clients_own = call.request.method == Method::initialize && group != nullptr &&
                              !group->plain && !group->own_handshake && group->session() &&
                              !group->session()->over_sse();
  if (parts_.era.is_modern() || !is_clients_own || !call.revision.empty()) return false;
  call.revision = other_revision(call.request.message.raw(mcp::Field::params), answer, end, Named::only);
  return !call.revision.empty();
}

void SessionGroups::try_revision(HttpCall& call, SessionGroup& group) {
  open_again(call, group, HttpSession::Transport::streamable_http);
}

void SessionGroups::try_sse(HttpCall& call, SessionGroup& group, core::Failure refused) {
  call.refused = std::move(refused);
  open_again(call, group, HttpSession::Transport::http_sse);
  group.session()->connect();
}

void SessionGroups::open_again(HttpCall& call, SessionGroup& group, HttpSession::Transport transport) {
  group.queue().put_back(call);
  close_session(group);
  open_session(group, transport);
  group.replaced();
  want(group);
}

// HTTP+SSE failed too: the client gets the answer of Streamable HTTP, unless this failure is more specific.
void SessionGroups::end_refused(SessionGroup& group, const core::Failure& failure) {
  HttpCall* call = group.queue().first();
  if (call == nullptr || !call->refused) return;
  if (failure.server_status == 401 || failure.server_status == 403) return;
  group.queue().take_first();
  if (call->refusal) return call->answer(std::move(*call->refusal));
  call->fail(*call->refused);
}

// ---- events of sessions ----

void SessionGroups::on_session_ready(HttpSession& session) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  group->tried = 0;
  // A session without an id gives legacy clients less than translation does.
  const bool is_less = group->bridged && parts_.era.is_modern() && !session.has_id();
  if (is_less) return parts_.serve_as_modern(*group);
  note_answer_of(session);
  log::write(log::Level::info, "upstream.ready",
             {{"upstream", server_.name}, {"era", "legacy"}, {"group", shown_group(group->key)}});
  if (!group->own_handshake) group->replay();
  if (group->bridged && group->session_number() > 1) group->facade.tell_restarted(group->scope());
  note_served(*group);  // the call it was opened for may have ended
  parts_.pump.schedule();
}

void SessionGroups::on_session_failed(HttpSession& session, const core::Failure& failure) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  group->tried = 0;
  const bool is_refused = failure.reason == EndReason::upstream_protocol && group->session_number() == 1;
  if (is_refused && group->bridged && parts_.era.is_modern()) return parts_.serve_as_modern(*group);
  close_session(*group);
  log::write(log::Level::warn, "upstream.down", {{"upstream", server_.name}, {"why", failure.text}});
  // A modern server that refuses a handshake confirms the verdict. Forgetting it would leave waiting calls
  // untranslated.
  const bool as_known = parts_.era.is_modern() && failure.reason == mcp::EndReason::upstream_protocol;
  if (server_.protocol_era == config::Era::automatic && server_.type == config::ServerType::automatic &&
      !as_known) {
    parts_.era.forget();
    speaks_sse_ = false;
  }
  end_refused(*group, failure);
  calls_.fail_queue(*group, failure);
  if (!group->is_listened()) return;
  group->listens.lost(&session);
  if (!group->reopening().lost(ReopenPause::First::after_a_pause)) return group->listens.fail_all(failure);
  parts_.pump.schedule();
}

// All answers would have come on that stream: sent calls fail now, later ones get a new session.
void SessionGroups::sse_lost(HttpSession& session, SessionGroup& group) {
  std::string key = group.key;
  bool listeners_too = !group.reopening().lost(ReopenPause::First::after_a_pause);
  group.listens.lost(&session);
  close_session(group);
  core::Failure failure{EndReason::upstream_exited,
                        fmt::format("{} closed its event stream before it answered", server_.name)};
  calls_.fail_sent(group, failure);
  if (SessionGroup* still = find(key); still != nullptr && still->listens_here && listeners_too)
    still->listens.fail_all(failure);
  parts_.pump.schedule();
}

void SessionGroups::on_session_lost(HttpSession& session) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  if (group->scope() != nullptr) group->scope()->on_scope_reset();
  if (session.over_sse()) return sse_lost(session, *group);
  const std::string key = group->key;
  const bool again_useless = group->reopening().is_useless_again(session.was_of_use());
  if (!group->replays()) {  // its client must initialise anew
    const core::Failure over = group->session_over();
    calls_.fail_queue(*group, over);
    if (find(key) == group) calls_.fail_sent(*group, over);
    parts_.pump.schedule();
    if (find(key) == group && group->scope() != nullptr) group->scope()->on_scope_ended();
    return;
  }
  if (!group->own_handshake) group->revive();
  group->listens.lost(&session);
  close_session(*group);
  const bool gives_up = !group->reopening().lost(ReopenPause::First::at_once);
  calls_.session_lost(*group);
  parts_.pump.schedule();
  if (find(key) != group) return;
  if (again_useless) calls_.fail_queue(*group, group->session_over());
  if (gives_up && find(key) == group && group->listens_here) {
    group->listens.fail_all({EndReason::upstream_protocol,
                             fmt::format("{} forgets each session soon after it was opened", server_.name)});
  }
}

// A client that sees a 404 opens its sessions itself: a refusal is between it and its server.
void SessionGroups::on_session_checked(HttpSession& session, HttpSession::Verdict verdict) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  const bool is_lost =
      verdict == HttpSession::Verdict::lost || (verdict == HttpSession::Verdict::refuses && group->replays());
  if (is_lost) return session.lost();
  calls_.session_kept(*group);
}

// Only with its stream, if it has one: the server's notifications before that are lost.
void SessionGroups::on_session_free(HttpSession& session) {
  SessionGroup* group = group_of(session);
  const bool its = group != nullptr && group->own_handshake;
  if (its && session.is_ready() && session.stream_stands()) group->listens.join(session);
  parts_.pump.schedule();
}

// As after a lost session: listening clients reload everything that may have changed.
void SessionGroups::on_session_missed(HttpSession& session) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  log::write(log::Level::info, "upstream.stream_missed",
             {{"upstream", server_.name}, {"group", shown_group(group->key)}});
  if (group->scope() != nullptr && !group->bridged)
    return group->facade.tell_changes(session.legacy_server(), group->scope());
  if (group->listens.served_by(&session)) group->listens.tell_changes();
}

// List changes and URI updates go to listens, unless the client has the session for itself.
void SessionGroups::on_session_message(HttpSession& session, mcp::Message message, HttpCall* call) {
  SessionGroup* group = find(session.group());
  if (group == nullptr) return;
  const bool asks = message.kind() == mcp::MessageKind::request;
  const bool scoped = group->scope() != nullptr;
  if (!asks && (group->bridged || !scoped) && group->listens.notify(session, message, loop_.now())) return;
  const MessageOrigin from{.call = call,
                           .bridged = group->bridged,
                           .scoped = scoped,
                           .exclusive = group->exclusive,
                           .apart = group->is_apart()};
  const Addressee to = group->attribution.of(message, from, group->possible(message));
  if (asks && !scoped && !group->bridged) parts_.slots.note_question(*group, call == nullptr, to);
  switch (to.kind) {
    case Addressee::Kind::call: return to.call->message(std::move(message));
    case Addressee::Kind::session: return group->scope()->on_scope_message(std::move(message), to.tag());
    case Addressee::Kind::roots: return session.post(group->facade.roots(message));
    case Addressee::Kind::refused: return session.post(LegacyFacade::nobody_to_ask(message, "session"));
    case Addressee::Kind::unwanted: return;
    case Addressee::Kind::none: break;
  }
  log::write(group->bridged ? log::Level::info : log::Level::debug, "upstream.dropped",
             {{"upstream", server_.name}, {"kind", "unscoped"}});
  parts_.origins.note_useless();
}

}  // namespace lineward::upstream
