#include "proxy/upstream/http/lost_calls.h"

#include <fmt/format.h>

#include <utility>

#include "protocol/mcp/errors.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/http/http_failures.h"
#include "proxy/upstream/http/session_groups.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Method;

// A call without an answer yet may still be refused, and be repeated. This is how long it is awaited.
constexpr std::chrono::milliseconds kLastWord{2000};

bool is_its_session(const HttpCall& call, const SessionGroup& group) {
  return group.session() != nullptr && group.session_number() == call.in_session;
}

// A server that fails with 5xx may have started the call. Lists and documents can be requested again; a tool
// may have run.
bool may_be_accepted(const HttpCall& call, int status, std::string_view words) {
  return status >= 500 && call.request.method == Method::tools_call && !SessionCheck::names_session(words);
}

}  // namespace

bool LostCalls::may_renew(const HttpCall& call, const SessionGroup& group) const {
  return call.in_session != 0 && group.replays() && !call.repeated && group.era == mcp::Era::legacy;
}

bool LostCalls::takes(HttpCall& call, SessionGroup& group, const MessagesEnd& end) {
  if (call.in_session == 0 || end.no_such_method) return false;
  HttpSession* session = is_its_session(call, group) ? group.session() : nullptr;
  if (end.status == 404) {
    const bool its_callers = session == nullptr || session->credentials().are_of(forwarded_headers(
                                                       parts_.server, call.request.headers));
    if (its_callers) {
      refused(call, group);
      return true;
    }
    // Other credentials may be refused although the session exists for its own client.
    if (!may_renew(call, group)) {
      session->check().doubt();
      owner_.left(call);
      call.fail(group.session_over());
      return true;
    }
  }
  if (!SessionCheck::is_sign(end.status) || !may_renew(call, group)) return false;
  const bool accepted = may_be_accepted(call, end.status, end.fault.text);
  if (session == nullptr) {  // it was replaced meanwhile
    if (accepted) return false;
    again(call, group);
    return true;
  }
  if (session->over_sse() || !session->is_ready() || !session->check().doubt()) return false;
  call.doubt = HttpCall::Doubt{parts_.failures.of(end), std::nullopt, accepted};
  return true;
}

bool LostCalls::takes(HttpCall& call, SessionGroup& group, const mcp::Message& answer, int status) {
  if (answer.kind() != mcp::MessageKind::error || !may_renew(call, group)) return false;
  const std::string words = answer.text(mcp::Field::error_message);
  const bool is_sign = SessionCheck::is_sign(status) && mcp::error_code(answer) != mcp::kMethodNotFound;
  if (!is_sign && !SessionCheck::names_session(words)) return false;
  const bool accepted = may_be_accepted(call, status, words);
  if (!is_its_session(call, group)) {
    if (accepted) return false;
    again(call, group);
    return true;
  }
  HttpSession& session = *group.session();
  if (session.over_sse() || !session.is_ready() || !session.check().doubt()) return false;
  call.doubt = HttpCall::Doubt{{}, answer, accepted};
  return true;
}

// The server does not know the session of the call. With a 404 it accepted nothing: if a new session can be
// opened, the call is repeated in it.
void LostCalls::refused(HttpCall& call, SessionGroup& group) {
  const bool its_own = is_its_session(call, group);
  core::Failure over = group.session_over();
  if (call.request.method == mcp::Method::initialize && !group.replays())
    over.text = fmt::format("{} answered initialize with 404", parts_.server.name);
  const bool renews = group.replays() && !call.repeated;
  renews ? again(call, group) : owner_.left(call);
  if (its_own) group.session()->lost();
  if (!renews) call.fail(over);
}

void LostCalls::again(HttpCall& call, SessionGroup& group) {
  call.repeated = true;
  call.doubt.reset();
  call.timer.stop();
  owner_.left(call);
  ++metrics::upstream_stats(parts_.server.name).retries[static_cast<size_t>(metrics::RetryOn::session_lost)];
  group.queue().put_back(call);
  parts_.groups.want(group);
}

// The call ends with the server's reply.
void LostCalls::said(HttpCall& call, HttpCall::Doubt doubt) {
  doubt.answer ? owner_.finish(call, std::move(*doubt.answer)) : owner_.fail(call, doubt.failure);
}

void LostCalls::end(HttpCall& call, const core::Failure& failure) {
  if (call.messages) call.messages->close();
  owner_.fail(call, failure);
}

// Each call that ends may start others.
void LostCalls::lost(SessionGroup& group) {
  const std::string key = group.key;
  const core::Failure gone{
      EndReason::upstream_protocol,
      fmt::format("{} lost the session that this call was made in before it answered", parts_.server.name)};
  const core::Failure broken{
      EndReason::upstream_unreachable,
      fmt::format("{} broke off its stream, and the session that it was to be resumed in is over",
                  parts_.server.name)};
  for (HttpCall* call : group.under_way()) {
    if (parts_.groups.find(key) != &group) return;
    if (call->list == nullptr || call->in_session != group.session_number()) continue;
    if (auto doubt = std::exchange(call->doubt, std::nullopt)) {
      if (!doubt->accepted) {
        again(*call, group);
      } else {
        said(*call, std::move(*doubt));
      }
    } else if (!call->messages) {
      end(*call, broken);
    } else if (call->messages->status() != 0) {
      end(*call, gone);
    } else {
      call->timer.start(kLastWord, [this, call, gone] { end(*call, gone); });
    }
  }
}

void LostCalls::kept(SessionGroup& group) {
  const std::string key = group.key;
  for (HttpCall* call : group.under_way()) {
    if (parts_.groups.find(key) != &group) return;
    if (call->list == nullptr) continue;
    auto doubt = std::exchange(call->doubt, std::nullopt);
    if (doubt) said(*call, std::move(*doubt));
  }
}

}  // namespace lineward::upstream
