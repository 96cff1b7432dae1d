#include "proxy/upstream/http/session_keeper.h"

#include <fmt/format.h>

#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "protocol/mcp/legacy_server.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/http/handshake_revision.h"
#include "proxy/upstream/http/http_failures.h"
#include "proxy/upstream/http/question_slots.h"
#include "proxy/upstream/http/request_ids.h"
#include "proxy/upstream/http/session_groups.h"
#include "proxy/upstream/http/sse_fallback.h"
#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/shared/server_era.h"

namespace lineward::upstream {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;

int64_t SessionKeeper::next_id() {
  return parts_.ids.next();
}

core::Failure SessionKeeper::failure_of(const MessagesEnd& end) {
  return parts_.failures.of(end);
}

void SessionKeeper::on_session_speaks_sse() {
  parts_.sse.found();
}

SessionGroup* SessionKeeper::group_of(const HttpSession& session) const {
  SessionGroup* group = groups_.find(session.group());
  return group != nullptr && group->session() == &session ? group : nullptr;
}

// ---- opening ----

bool SessionKeeper::open(SessionGroup& group) {
  if (group.reopening().must_wait([this] { parts_.pump.schedule(); })) return false;
  groups_.open_session(group, parts_.sse.transport());
  group.opened();
  if (group.exclusive) group.session()->waits().settle_first();
  HttpCall* call = group.queue().first();
  group.session()->credentials().remember(group.lasting());
  bool clients_own = !group.own_handshake && call != nullptr && call->request.method == Method::initialize;
  if (!clients_own) {
    const bool is_trial = group.bridged && parts_.era.is_modern();
    const bool automatic = server_.type == config::ServerType::automatic && !is_trial;
    const std::string params =
        with_handshake_revision(group.facade.handshake(), parts_.era.handshake_revision());
    group.session()->initialize(
        params, automatic ? HttpSession::IfRefused::try_http_sse : HttpSession::IfRefused::fail);
  } else if (parts_.sse.speaks_sse()) {
    group.session()->connect();
  }
  return true;
}

// Closes a client's session that was idle for sessions.reclaimAfter. If the client cannot see a 404, Lineward
// opens a new one for its next request; otherwise the client initialises anew.
bool SessionKeeper::reclaim() {
  SessionGroup* group = groups_.unused_for_long();
  if (group == nullptr) return false;
  metrics::limit_reached(metrics::Limit::server_sessions);
  log::write(log::Level::info, "upstream.evict",
             {{"upstream", server_.name},
              {"group", log::Excerpt(group->key, 64)},
              {"why", "its session was idle, and made room for another"}});
  core::ScopeCallbacks& scope = *group->scope();
  scope.on_scope_reset();
  group->session()->end();
  groups_.close_session(*group);
  if (!group->replays()) scope.on_scope_ended();
  return true;
}

// An HTTP+SSE session is its stream, and needs a place for it.
std::optional<core::Failure> SessionKeeper::refusal_of_another() {
  if (groups_.is_full() && !reclaim()) {
    metrics::limit_reached(metrics::Limit::server_sessions);
    return core::Failure{EndReason::queue_full, fmt::format("{} has {} sessions already (limits.maxSessions)",
                                                            server_.name, server_.limits.max_sessions)};
  }
  if (parts_.sse.speaks_sse() && !parts_.pool.streams().has_room()) {
    metrics::limit_reached(metrics::Limit::server_connections);
    return core::Failure{EndReason::queue_full,
                         fmt::format("{} has as many event streams open already as it may have "
                                     "(half of limits.maxConnections)",
                                     server_.name)};
  }
  return std::nullopt;
}

bool SessionKeeper::takes(SessionGroup& group, HttpCall& call) {
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
    session.waits().want_level(call.request);
  }
  if (group.exclusive && mcp::may_ask(call.request.method) && !parts_.slots.may_follow(group)) return false;
  return session.takes(call);
}

bool SessionKeeper::answers(SessionGroup& group, HttpCall& call) {
  if (!group.own_handshake) return false;
  if (call.request.client_era == mcp::Era::modern && call.is_listen()) {
    if (!group.session()->stream_stands()) return false;
    group.queue().take_first();
    group.listens.open(call, *group.session());
    return true;
  }
  auto answer = group.facade.answer(call.request, group.session()->legacy_server(),
                                    group.session()->initialize_result(), group.session()->waits().level());
  if (!answer) return false;
  group.queue().take_first();
  *answer ? call.answer(std::move(**answer)) : call.fail(answer->error());
  return true;
}

// ---- events of sessions ----

void SessionKeeper::on_session_ready(HttpSession& session) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  // A session without an id gives legacy clients less than translation does.
  const bool is_less = group->bridged && parts_.era.is_modern() && !session.has_id();
  if (is_less) return parts_.serve_as_modern(*group);
  groups_.note_answer_of(session);
  log::write(log::Level::info, "upstream.ready",
             {{"upstream", server_.name}, {"era", "legacy"}, {"group", group->key}});
  if (!group->own_handshake) group->replay();
  if (group->bridged && group->session_number() > 1) group->facade.tell_restarted(group->scope());
  groups_.note_served(*group);  // the call it was opened for may have ended
  parts_.pump.schedule();
}

void SessionKeeper::on_session_revision(std::string_view revision) {
  parts_.era.note_handshake_revision(revision);
  log::write(log::Level::info, "upstream.revision",
             {{"upstream", server_.name}, {"revision", std::string(revision)}});
}

void SessionKeeper::on_session_failed(HttpSession& session, const core::Failure& failure) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  const bool is_refused = failure.reason == EndReason::upstream_protocol && group->session_number() == 1;
  if (is_refused && group->bridged && parts_.era.is_modern()) return parts_.serve_as_modern(*group);
  groups_.close_session(*group);
  log::write(log::Level::warn, "upstream.down", {{"upstream", server_.name}, {"why", failure.text}});
  // A modern server that refuses a handshake confirms the verdict. Forgetting it would leave waiting calls
  // untranslated.
  const bool as_known = parts_.era.is_modern() && failure.reason == mcp::EndReason::upstream_protocol;
  if (server_.protocol_era == config::Era::automatic && server_.type == config::ServerType::automatic &&
      !as_known) {
    parts_.era.forget();
    parts_.sse.forget();
  }
  parts_.sse.failed(*group, failure);
  calls_.fail_queue(*group, failure);
  if (!group->is_listened()) return;
  group->listens.lost(&session);
  if (!group->reopening().lost(ReopenPause::First::after_a_pause)) return group->listens.fail_all(failure);
  parts_.pump.schedule();
}

// All answers would have come on that stream: sent calls fail now, later ones get a new session.
void SessionKeeper::sse_lost(HttpSession& session, SessionGroup& group) {
  std::string key = group.key;
  bool listeners_too = !group.reopening().lost(ReopenPause::First::after_a_pause);
  group.listens.lost(&session);
  groups_.close_session(group);
  core::Failure failure{EndReason::upstream_exited,
                        fmt::format("{} closed its event stream before it answered", server_.name)};
  calls_.fail_sent(group, failure);
  if (SessionGroup* still = groups_.find(key); still != nullptr && still->listens_here && listeners_too)
    still->listens.fail_all(failure);
  parts_.pump.schedule();
}

void SessionKeeper::on_session_lost(HttpSession& session) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  if (group->scope() != nullptr) group->scope()->on_scope_reset();
  if (session.over_sse()) return sse_lost(session, *group);
  const std::string key = group->key;
  const bool again_useless = group->reopening().is_useless_again(session.check().was_of_use());
  if (!group->replays()) {  // its client must initialise anew
    const core::Failure over = group->session_over();
    calls_.fail_queue(*group, over);
    if (groups_.find(key) == group) calls_.fail_sent(*group, over);
    parts_.pump.schedule();
    if (groups_.find(key) == group && group->scope() != nullptr) group->scope()->on_scope_ended();
    return;
  }
  if (!group->own_handshake) group->revive();
  group->listens.lost(&session);
  groups_.close_session(*group);
  const bool gives_up = !group->reopening().lost(ReopenPause::First::at_once);
  calls_.session_lost(*group);
  parts_.pump.schedule();
  if (groups_.find(key) != group) return;
  if (again_useless) calls_.fail_queue(*group, group->session_over());
  if (gives_up && groups_.find(key) == group && group->listens_here) {
    group->listens.fail_all({EndReason::upstream_protocol,
                             fmt::format("{} forgets each session soon after it was opened", server_.name)});
  }
}

// A client that sees a 404 opens its sessions itself: a refusal is between it and its server.
void SessionKeeper::on_session_checked(HttpSession& session, SessionCheck::Verdict verdict) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  const bool is_lost = verdict == SessionCheck::Verdict::lost ||
                       (verdict == SessionCheck::Verdict::refuses && group->replays());
  if (is_lost) return session.lost();
  calls_.session_kept(*group);
}

// Only with its stream, if it has one: the server's notifications before that are lost.
void SessionKeeper::on_session_free(HttpSession& session) {
  SessionGroup* group = group_of(session);
  const bool its = group != nullptr && group->own_handshake;
  if (its && session.is_ready() && session.stream_stands()) group->listens.join(session);
  parts_.pump.schedule();
}

// As after a lost session: listening clients reload everything that may have changed.
void SessionKeeper::on_session_missed(HttpSession& session) {
  SessionGroup* group = group_of(session);
  if (group == nullptr) return;
  log::write(log::Level::info, "upstream.stream_missed",
             {{"upstream", server_.name}, {"group", log::Excerpt(group->key, 64)}});
  if (group->scope() != nullptr && !group->bridged)
    return group->facade.tell_changes(session.legacy_server(), group->scope());
  if (group->listens.served_by(&session)) group->listens.tell_changes();
}

void SessionKeeper::on_session_message(HttpSession& session, mcp::Message message, HttpCall* call) {
  SessionGroup* group = groups_.find(session.group());
  if (group == nullptr) return;
  if (group->bridged) return to_bridged(session, *group, std::move(message), call);
  if (group->scope() != nullptr) {
    return group->scope()->on_scope_message(std::move(message),
                                            call ? std::optional(call->request.tag) : std::nullopt);
  }
  if (message.kind() == mcp::MessageKind::request)
    return parts_.slots.question(session, *group, std::move(message), call);
  notification(session, *group, std::move(message), call);
}

// List changes and URI updates go to listens; the rest goes to the session.
void SessionKeeper::to_bridged(HttpSession& session, SessionGroup& group, mcp::Message message,
                               HttpCall* call) {
  const Method method = mcp::method_of(message.method());
  const bool asks = message.kind() == mcp::MessageKind::request;
  if (!asks && group.listens.notify(session, message, parts_.loop.now())) return;
  HttpCall* only = call != nullptr || asks ? call : group.owner_of_line();
  if (method == Method::message && only != nullptr) {
    if (LegacyFacade::wants_log_line(only->request, message)) only->message(std::move(message));
  } else if (group.scope() != nullptr && method != Method::progress) {
    const bool is_clients = only != nullptr && only->request.tag != 0;
    group.scope()->on_scope_message(std::move(message),
                                    is_clients ? std::optional(only->request.tag) : std::nullopt);
  } else if (asks) {
    session.post(LegacyFacade::nobody_to_ask(message, "session"));
  } else {
    log::write(log::Level::info, "upstream.dropped", {{"upstream", server_.name}, {"kind", "unscoped"}});
    parts_.pool.note_useless();
  }
}

void SessionKeeper::notification(HttpSession& session, SessionGroup& group, mcp::Message message,
                                 HttpCall* call) {
  const Method method = mcp::method_of(message.method());
  if (method == Method::cancelled || method == Method::elicitation_complete) {
    if (HttpCall* asked = group.asked_by(message)) return asked->message(std::move(message));
  }
  if (group.listens.notify(session, message, parts_.loop.now())) return;
  if (call == nullptr) call = group.owner_of_line();
  if (call != nullptr && method == Method::message) {
    if (LegacyFacade::wants_log_line(call->request, message)) call->message(std::move(message));
    return;
  }
  log::write(log::Level::debug, "upstream.dropped", {{"upstream", server_.name}, {"kind", "unscoped"}});
  parts_.pool.note_useless();
}

}  // namespace lineward::upstream
