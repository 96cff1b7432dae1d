#include "proxy/upstream/http/sse_fallback.h"

#include <utility>

#include "foundation/log/log.h"
#include "proxy/upstream/http/handshake_revision.h"

namespace lineward::upstream {

using mcp::Method;

void SseFallback::found() {
  if (std::exchange(speaks_sse_, true)) return;
  log::write(log::Level::info, "upstream.transport", {{"upstream", server_.name}, {"transport", "HTTP+SSE"}});
}

// behaviour.md 8: an `initialize` that got 400, 404 or 405 may be at a server of 2024-11-05.
bool SseFallback::may_try(const HttpCall& call, const SessionGroup* group, int status) const {
  // A known modern server does not speak HTTP+SSE.
  return !era_.is_modern() && (status == 400 || status == 404 || status == 405) &&
         call.request.method == Method::initialize && server_.type == config::ServerType::automatic &&
         group != nullptr && !group->plain && !group->own_handshake && group->session() &&
         !group->session()->over_sse();
}

bool SseFallback::finds_revision(HttpCall& call, const SessionGroup* group, const mcp::Message* answer,
                                 const MessagesEnd& end) const {
  const bool is_clients_own = call.request.method == Method::initialize && group != nullptr &&
                              !group->plain && !group->own_handshake && group->session() &&
                              !group->session()->over_sse();
  if (era_.is_modern() || !is_clients_own || !call.revision.empty()) return false;
  call.revision = other_revision(call.request.message.raw(mcp::Field::params), answer, end, Named::only);
  return !call.revision.empty();
}

void SseFallback::try_revision(HttpCall& call, SessionGroup& group) {
  group.queue().put_back(call);
  groups_.close_session(group);
  groups_.open_session(group, HttpSession::Transport::streamable_http);
  group.replaced();
  groups_.want(group);
}

void SseFallback::try_again(HttpCall& call, SessionGroup& group, core::Failure refused) {
  call.refused = std::move(refused);
  group.queue().put_back(call);
  groups_.close_session(group);
  groups_.open_session(group, HttpSession::Transport::http_sse);
  group.replaced();
  group.session()->connect();
  groups_.want(group);
}

// HTTP+SSE failed too: the client gets the answer of Streamable HTTP, unless this failure is more specific.
void SseFallback::failed(SessionGroup& group, const core::Failure& failure) {
  HttpCall* call = group.queue().first();
  if (call == nullptr || !call->refused) return;
  if (failure.server_status == 401 || failure.server_status == 403) return;
  group.queue().take_first();
  if (call->refusal) return call->answer(std::move(*call->refusal));
  call->fail(*call->refused);
}

}  // namespace lineward::upstream
