// The half of HttpUpstream that deals with groups of callers and their sessions.
#include <fmt/format.h>

#include "base/log.h"
#include "mcp/rewrite.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;

void HttpUpstream::close_group(SessionGroup& group, std::string_view why) {
  farewells_.tell_now();  // while the session stands
  group.scope = nullptr;
  core::Failure failure{EndReason::cancelled_drain, std::string(why)};
  std::unique_ptr<SessionGroup> kept = groups_->take(group);
  if (!kept) return;
  fail_queue(*kept, failure);
  kept->listens.lost(kept->session.get());  // what is subscribed ends with the session
  if (kept->home) kept->listens.fail_all(failure);
  for (HttpCall* call : kept->calls.all()) {
    if (call->messages) call->messages->close();
    fail(*call, failure);
  }
  // It ends, and is free when this turn is over.
  if (kept->session) {
    kept->session->end();
    groups_->close_session(*kept);
  }
  groups_->let_go(std::move(kept));
}

// Listens that their clients know to be open wait for room.
void HttpUpstream::fail_queue(SessionGroup& group, const core::Failure& failure) {
  std::deque<HttpCall*> queue;
  queue.swap(group.queue);
  for (HttpCall* call : queue) {
    bool again = call->is_listen() && call->acknowledged && mcp::is_lack_of_room(failure.reason);
    again ? listen_again(*call, failure) : call->fail(failure);
  }
}

// ---- sessions ----

// A session for the first call that waits, or for those who listen: initialised by us, or by the client's own
// request.
void HttpUpstream::open_session(SessionGroup& group) {
  groups_->open_session(group, sse_->speaks_sse());
  group.opened();
  if (group.exclusive) group.session->settle_first();
  HttpCall* call = group.queue.empty() ? nullptr : group.queue.front();
  group.session->remember(group.lasting);
  bool clients_own = !group.own_handshake && call != nullptr && call->request.method == Method::initialize;
  if (!clients_own) {
    bool automatic = server_.type == config::ServerType::automatic;
    group.session->initialize(group.initialize_params(), automatic);
  } else if (sse_->speaks_sse()) {
    group.session->connect();
  }
}

void HttpUpstream::on_session_ready(HttpSession& session) {
  SessionGroup* group = groups_->find(session.group());
  if (group == nullptr || group->session.get() != &session) return;
  note_session(session);
  log::write(log::Level::info, "upstream.ready",
             {{"upstream", server_.name}, {"era", "legacy"}, {"group", group->key}});
  if (!group->own_handshake) group->replay();
  schedule_pump();
}

void HttpUpstream::note_session(const HttpSession& session) {
  const bool keeps = session.has_id();
  if (keeps_sessions_ == keeps) return;
  keeps_sessions_ = keeps;
  log::write(log::Level::debug, "upstream.sessions",
             {{"upstream", server_.name}, {"keeps", keeps ? "yes" : "no"}});
}

void HttpUpstream::on_session_failed(HttpSession& session, const core::Failure& failure) {
  SessionGroup* group = groups_->find(session.group());
  if (group == nullptr || group->session.get() != &session) return;
  groups_->close_session(*group);
  log::write(log::Level::warn, "upstream.down", {{"upstream", server_.name}, {"why", failure.text}});
  if (server_.protocol_era == config::Era::automatic && server_.type == config::ServerType::automatic) {
    era_->forget();
    sse_->forget();
  }
  sse_->failed(*group, failure);
  fail_queue(*group, failure);
  if (!group->is_listened()) return;
  group->listens.lost(&session);
  if (!group->opens_again(false)) return group->listens.fail_all(failure);
  schedule_pump();
}

// Every answer would have come on that stream: what is in flight fails now, what comes later gets a new
// session.
void HttpUpstream::sse_lost(HttpSession& session, SessionGroup& group) {
  std::string key = group.key;
  bool listeners_too = !group.opens_again(false);
  group.listens.lost(&session);
  groups_->close_session(group);
  core::Failure failure{EndReason::upstream_exited,
                        fmt::format("{} closed its event stream before it answered", server_.name)};
  for (HttpCall* call : group.calls.all()) {
    if (call->messages) call->messages->close();
    fail(*call, failure);
  }
  if (SessionGroup* still = groups_->find(key); still != nullptr && still->home && listeners_too)
    still->listens.fail_all(failure);
  schedule_pump();
}

void HttpUpstream::on_session_lost(HttpSession& session) {
  SessionGroup* group = groups_->find(session.group());
  if (group == nullptr || group->session.get() != &session) return;
  if (group->scope != nullptr) group->scope->on_scope_reset();
  if (session.over_sse()) return sse_lost(session, *group);
  if (!group->replays()) {
    if (group->scope != nullptr) group->scope->on_scope_ended();
    schedule_pump();
    return;  // its client must initialise anew
  }
  if (!group->own_handshake) group->revive();
  group->listens.lost(&session);
  groups_->close_session(*group);
  if (!group->opens_again(true) && group->home) {
    group->listens.fail_all({EndReason::upstream_protocol,
                             fmt::format("{} forgets each session soon after it was opened", server_.name)});
  }
  schedule_pump();
}

// With its stream, where it has one: what its server tells before that is lost.
void HttpUpstream::on_session_free(HttpSession& session) {
  SessionGroup* group = groups_->find(session.group());
  bool its = group != nullptr && group->session.get() == &session && group->own_handshake;
  if (its && session.is_ready() && session.stream_stands()) group->listens.join(session);
  schedule_pump();
}

void HttpUpstream::on_session_message(HttpSession& session, mcp::Message message, HttpCall* call) {
  SessionGroup* group = groups_->find(session.group());
  if (group == nullptr) return;
  if (group->scope != nullptr) {
    return group->scope->on_scope_message(std::move(message),
                                          call ? std::optional(call->request.tag) : std::nullopt);
  }
  if (message.kind() == mcp::MessageKind::request)
    return slots_->question(session, *group, std::move(message), call);
  if (mcp::method_of(message.method()) == Method::cancelled) {
    // A server takes a question back.
    HttpCall* owner = call != nullptr ? call : group->asking_call();
    if (owner != nullptr && owner->request.client_era == mcp::Era::modern) owner->message(std::move(message));
    return;
  }
  if (group->listens.notify(session, message, loop_.now())) return;
  if (call == nullptr) call = group->only_call();
  if (call != nullptr && mcp::method_of(message.method()) == Method::message) {
    // A modern call gets the log lines it asked for, at its level.
    auto wanted = mcp::log_level(call->request.message.text(Field::meta_log_level));
    auto level = mcp::log_level(message.text(Field::params_level));
    bool modern = call->request.client_era == mcp::Era::modern;
    if (!modern || (wanted && level && *level >= *wanted)) return call->message(std::move(message));
    return;
  }
  log::write(log::Level::debug, "upstream.dropped", {{"upstream", server_.name}, {"kind", "unscoped"}});
}

void HttpUpstream::open_scope(const core::Scope& scope, core::ScopeOwner& owner) {
  SessionPlan plan = planner_.plan(scope);
  if (plan.initialize_params.empty()) groups_->get(plan).scope = &owner;
}

// A session of several clients is initialised by this process, and HTTP+SSE ends with its stream.
core::PortableScopes* HttpUpstream::portable(const core::Scope&) {
  bool own =
      server_.isolation == config::Isolation::automatic || server_.isolation == config::Isolation::session;
  return own && !sse_->speaks_sse() && !stopping_ ? portable_.get() : nullptr;
}

void HttpUpstream::close_scope(const core::Scope& scope) {
  SessionGroup* group = groups_->of_client(scope);
  if (group == nullptr) return;
  if (group->session) group->session->be_shared(false);  // it ends everywhere
  close_group(*group, "its session ended");
}

// To a legacy server it would mean nothing.
void HttpUpstream::notify(const core::Scope&, const mcp::Message& message,
                          const core::HeaderFields& headers) {
  if (server_.isolation == config::Isolation::call || stopping_) return;
  if (!era_->is_modern()) return;
  ErrandPlan plan;
  plan.request.body = mcp::with_envelope(message);
  plan.request.headers = base_headers(server_, HttpVerb::post);
  add_all(plan.request.headers, forwarded_headers(server_, headers));
  if (auto sent = mcp::Message::parse(plan.request.body))
    add_modern_headers(plan.request.headers, *sent, headers);
  errands_->run(std::move(plan));
}

void HttpUpstream::forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) {
  if (client_era == mcp::Era::modern) return notify(scope, message, {});
  if (server_.isolation == config::Isolation::call || stopping_) return;
  SessionGroup* group = groups_->find(planner_.plan(scope).key);
  if (group == nullptr || !group->session || group->session->state() != HttpSession::State::ready) return;
  if (group->own_handshake && group->scope == nullptr) return;  // nobody's own session
  if (mcp::method_of(message.method()) == Method::initialized)
    return group->session->send_initialized(message.bytes());
  group->session->post(message.bytes());
}

void HttpUpstream::reconfigured() {
  pool_->set_limits(server_);
  errands_->set_max_message_bytes(server_.limits.max_message_bytes);
  schedule_pump();
}

}  // namespace lineward::upstream
