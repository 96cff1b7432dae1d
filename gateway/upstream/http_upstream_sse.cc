// The part of HttpUpstream that deals with HTTP+SSE servers (2024-11-05 transports): how one is found out,
// and what becomes of calls and sessions when the one stream that all answers come on is lost.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "mcp/rewrite.h"
#include "mcp/targets.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// A session that lived this long did start properly.
constexpr milliseconds kStable{10000};

constexpr std::string_view kFirstRevision = "2024-11-05";
constexpr std::string_view kSuccessor = "2025-03-26";

bool asks_for_first_revision(const HttpCall& call) {
  return call.request.client_on_stdio && call.request.method == Method::initialize &&
         call.request.message.text(Field::params_protocol_version) == kFirstRevision;
}

std::string with_revision(const mcp::Message& message, Field field, std::string_view revision) {
  json::Splice splice = message.splice();
  splice.replace(message.at(field), json::quote(revision));
  return splice.apply();
}

}  // namespace

// behaviour.md 8: an `initialize` that got 400, 404 or 405 may have met a server of 2024-11-05.
bool HttpUpstream::may_speak_sse(const HttpCall& call, const Group* group, int status) const {
  bool modern = verdict_.known && verdict_.era == mcp::Era::modern;  // it has told what it is
  return !modern && (status == 400 || status == 404 || status == 405) &&
         call.request.method == Method::initialize && server_.type == config::ServerType::automatic &&
         group != nullptr && !group->plain && !group->own_handshake && group->session &&
         !group->session->over_sse();
}

void HttpUpstream::try_sse(HttpCall& call, Group& group, const MessagesEnd& end) {
  left(call);
  call.refused = failure_of(end);
  group.queue.push_front(&call);
  lose_session(group);
  set_session(group, std::make_unique<HttpSession>(*pool_, *errands_, server_, *this, group.key, true));
  ++group.opened;
  group.session->connect();
  schedule_pump(group);
}

// No HTTP+SSE either: the client gets what Streamable HTTP said, unless this says more.
void HttpUpstream::sse_refused(Group& group, const core::Failure& failure) {
  HttpCall* call = group.queue.empty() ? nullptr : group.queue.front();
  if (call == nullptr || !call->refused) return;
  if (failure.server_status == 401 || failure.server_status == 403) return;
  group.queue.pop_front();
  if (call->refusal) return call->answer(std::move(*call->refusal));
  call->fail(*call->refused);
}

void HttpUpstream::on_session_speaks_sse() {
  if (std::exchange(sse_, true)) return;
  log::write(log::Level::info, "upstream.transport", {{"upstream", server_.name}, {"transport", "HTTP+SSE"}});
}

// Every answer would have come on that stream: what is in flight fails now, what comes later gets a new
// session.
void HttpUpstream::sse_lost(HttpSession& session, Group& group) {
  std::string key = group.key;
  bool listeners_too = !opens_again(group, false);
  group.listens->lost(&session);
  lose_session(group);
  core::Failure failure{EndReason::upstream_exited,
                        fmt::format("{} closed its event stream before it answered", server_.name)};
  for (HttpCall* call : group.calls.all()) {
    if (call->messages) call->messages->close();
    fail(*call, failure);
  }
  if (Group* still = find_group(key); still != nullptr && still->home && listeners_too)
    still->listens->fail_all(failure);
  schedule_pump();
}

// A session was lost, or did not even stand: the next one is opened after a pause that grows, but for the
// first where that may come `at_once`. False when those who listen are to be told that it is over.
bool HttpUpstream::opens_again(Group& group, bool at_once) {
  constexpr uint32_t kMostLosses = 6;  // in a row
  group.losses = loop_.now() - group.opened_at > kStable ? 1 : group.losses + 1;
  const uint32_t doublings = group.losses - 1 - (at_once && group.losses > 1 ? 1 : 0);
  milliseconds wait = server_.restart.backoff * (1ll << std::min(doublings, 20u));
  if (at_once && group.losses == 1) wait = milliseconds(0);
  group.not_before = loop_.now() + std::min<milliseconds>(wait, server_.restart.max_backoff);
  return group.losses <= kMostLosses;
}

bool HttpUpstream::must_wait(Group& group) {
  if (loop_.now() >= group.not_before) return false;
  if (!group.wake) group.wake = std::make_unique<net::Timer>(loop_);
  if (!group.wake->running()) group.wake->start(group.not_before - loop_.now(), [this] { schedule_pump(); });
  return true;
}

// What a client's own session was told, and the next one must be.
void HttpUpstream::remember(Group& group, const HttpCall& call) {
  if (group.own_handshake) return;
  const mcp::Message& message = call.request.message;
  switch (call.request.method) {
    case Method::logging_set_level: group.level_params = mcp::level_params(message); break;
    case Method::resources_subscribe:
      if (group.subscriptions.size() < mcp::kMostSubscriptions)
        group.subscriptions.insert(message.text(Field::params_uri), call.request.account);
      break;
    case Method::resources_unsubscribe: group.subscriptions.erase(message.text(Field::params_uri)); break;
    default: break;
  }
}

void HttpUpstream::replay(Group& group, HttpSession& session) {
  if (!group.level_params.empty()) session.send_own("logging/setLevel", group.level_params, nullptr);
  for (const std::string& uri : group.subscriptions)
    session.send_own("resources/subscribe", mcp::uri_params(uri), nullptr);
  if (group.scope == nullptr) return;
  for (std::string& notice :
       mcp::notices_of_lost_state(session.legacy_server(), server_.name, group.level_params)) {
    auto message = mcp::Message::parse(std::move(notice));
    if (message && group.scope != nullptr) group.scope->on_scope_message(std::move(*message), std::nullopt);
  }
}

// 2024-11-05 ends with HTTP+SSE. Over Streamable HTTP a client of it, which can only be on stdio, is served
// in its successor, which takes nothing away.
std::string HttpUpstream::legacy_request(const HttpSession& session, const HttpCall& call) {
  const mcp::Message& message = call.request.message;
  if (!session.over_sse() && asks_for_first_revision(call)) {
    auto newer = mcp::Message::parse(with_revision(message, Field::params_protocol_version, kSuccessor));
    if (newer) return mcp::request_for_upstream(*newer, call.id);
  }
  return mcp::request_for_upstream(message, call.id);
}

// The parameters of a client's own `initialize`, as this server got them.
std::string HttpUpstream::handshake_of(const HttpSession& session, const HttpCall& call) {
  auto sent = mcp::Message::parse(legacy_request(session, call));
  return sent ? std::string(sent->raw(Field::params)) : std::string();
}

mcp::Message HttpUpstream::legacy_answer(const HttpSession& session, const HttpCall& call,
                                         mcp::Message answer) {
  bool successor = answer.text(Field::result_protocol_version) == kSuccessor;
  if (session.over_sse() || !asks_for_first_revision(call) || !successor) return answer;
  auto older = mcp::Message::parse(with_revision(answer, Field::result_protocol_version, kFirstRevision));
  return older ? std::move(*older) : std::move(answer);
}

}  // namespace lineward::upstream
