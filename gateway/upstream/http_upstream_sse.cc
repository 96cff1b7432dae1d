// The part of HttpUpstream that deals with HTTP+SSE servers (2024-11-05 transports): how one is found out,
// and what becomes of calls and sessions when the one stream that all answers come on is lost.
#include <fmt/format.h>

#include "base/log.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {

using mcp::EndReason;
using mcp::Method;

// behaviour.md 8: an `initialize` that got 400, 404 or 405 may have met a server of 2024-11-05.
bool HttpUpstream::may_speak_sse(const HttpCall& call, const SessionGroup* group, int status) const {
  // One that has told that it is modern is none.
  return !era_->is_modern() && (status == 400 || status == 404 || status == 405) &&
         call.request.method == Method::initialize && server_.type == config::ServerType::automatic &&
         group != nullptr && !group->plain && !group->own_handshake && group->session &&
         !group->session->over_sse();
}

void HttpUpstream::try_sse(HttpCall& call, SessionGroup& group, const MessagesEnd& end) {
  left(call);
  call.refused = failure_of(end);
  group.queue.push_front(&call);
  groups_->close_session(group);
  groups_->open_session(group, true);
  group.replaced();
  group.session->connect();
  groups_->want(group);
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

}  // namespace lineward::upstream
