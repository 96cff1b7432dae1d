// The part of HttpUpstream that deals with HTTP+SSE servers (2024-11-05 transports): how one is found out,
// and what becomes of calls and sessions when the one stream that all answers come on is lost.
#include <fmt/format.h>

#include "base/log.h"
#include "mcp/rewrite.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;

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
bool HttpUpstream::may_speak_sse(const HttpCall& call, const SessionGroup* group, int status) const {
  bool modern = verdict_.known && verdict_.era == mcp::Era::modern;  // it has told what it is
  return !modern && (status == 400 || status == 404 || status == 405) &&
         call.request.method == Method::initialize && server_.type == config::ServerType::automatic &&
         group != nullptr && !group->plain && !group->own_handshake && group->session &&
         !group->session->over_sse();
}

void HttpUpstream::try_sse(HttpCall& call, SessionGroup& group, const MessagesEnd& end) {
  left(call);
  call.refused = failure_of(end);
  group.queue.push_front(&call);
  lose_session(group);
  set_session(group, std::make_unique<HttpSession>(*pool_, *errands_, server_, *this, group.key, true));
  group.replaced();
  group.session->connect();
  schedule_pump(group);
}

// No HTTP+SSE either: the client gets what Streamable HTTP said, unless this says more.
void HttpUpstream::sse_refused(SessionGroup& group, const core::Failure& failure) {
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
void HttpUpstream::sse_lost(HttpSession& session, SessionGroup& group) {
  std::string key = group.key;
  bool listeners_too = !group.opens_again(false);
  group.listens.lost(&session);
  lose_session(group);
  core::Failure failure{EndReason::upstream_exited,
                        fmt::format("{} closed its event stream before it answered", server_.name)};
  for (HttpCall* call : group.calls.all()) {
    if (call->messages) call->messages->close();
    fail(*call, failure);
  }
  if (SessionGroup* still = find_group(key); still != nullptr && still->home && listeners_too)
    still->listens.fail_all(failure);
  schedule_pump();
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
