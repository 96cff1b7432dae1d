// HttpCallTable: calls when the server may have lost their session (behaviour.md 11).

#include <fmt/format.h>

#include <utility>

#include "protocol/mcp/errors.h"
#include "proxy/upstream/http/http_call_table.h"
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

bool may_renew(const HttpCall& call, const SessionGroup& group) {
  return call.in_session != 0 && group.replays() && !call.repeated && group.era == mcp::Era::legacy;
}

}  // namespace

bool HttpCallTable::is_doubtful(HttpCall& call, SessionGroup& group, const MessagesEnd& end) {
  if (call.in_session == 0 || end.no_such_method) return false;
  HttpSession* session = is_its_session(call, group) ? group.session() : nullptr;
  if (end.status == 404) {
    const bool its_callers =
        session == nullptr || session->credentials().are_of(forwarded_headers(server_, call.request.headers));
    if (its_callers) {
      no_such_session(call, group);
      return true;
    }
    // Other credentials may be refused although the session exists for its own client.
    if (!may_renew(call, group)) {
      session->check().doubt();
      left(call);
      call.fail(group.session_over());
      return true;
    }
  }
  if (!SessionCheck::is_sign(end.status) || !may_renew(call, group)) return false;
  const bool accepted = may_be_accepted(call, end.status, end.fault.text);
  if (session == nullptr) {  // it was replaced meanwhile
    if (accepted) return false;
    repeat(call, group);
    return true;
  }
  if (session->over_sse() || !session->is_ready() || !session->check().doubt()) return false;
  call.doubt = HttpCall::Doubt{parts_.failures.of(end), std::nullopt, accepted};
  return true;
}

bool HttpCallTable::is_doubtful(HttpCall& call, SessionGroup& group, const mcp::Message& answer, int status) {
  if (answer.kind() != mcp::MessageKind::error || !may_renew(call, group)) return false;
  const std::string words = answer.text(mcp::Field::error_message);
  const bool is_sign = SessionCheck::is_sign(status) && mcp::error_code(answer) != mcp::kMethodNotFound;
  if (!is_sign && !SessionCheck::names_session(words)) return false;
  const bool accepted = may_be_accepted(call, status, words);
  if (!is_its_session(call, group)) {
    if (accepted) return false;
    repeat(call, group);
    return true;
  }
  HttpSession& session = *group.session();
  if (session.over_sse() || !session.is_ready() || !session.check().doubt()) return false;
  call.doubt = HttpCall::Doubt{{}, answer, accepted};
  return true;
}

// The server does not know the session of the call. With a 404 it accepted nothing: if a new session can be
// opened, the call is repeated in it.
void HttpCallTable::no_such_session(HttpCall& call, SessionGroup& group) {
  const bool its_own = is_its_session(call, group);
  core::Failure over = group.session_over();
  if (call.request.method == mcp::Method::initialize && !group.replays())
    over.text = fmt::format("{} answered initialize with 404", server_.name);
  const bool renews = group.replays() && !call.repeated;
  renews ? repeat(call, group) : left(call);
  if (its_own) group.session()->lost();
  if (!renews) call.fail(over);
}

void HttpCallTable::repeat(HttpCall& call, SessionGroup& group) {
  call.repeated = true;
  call.doubt.reset();
  call.timer.stop();
  left(call);
  ++stats_.retries[static_cast<size_t>(metrics::RetryOn::session_lost)];
  group.queue().put_back(call);
  groups_.want(group);
}

void HttpCallTable::end_doubt(HttpCall& call, HttpCall::Doubt doubt) {
  doubt.answer ? finish(call, std::move(*doubt.answer)) : fail(call, doubt.failure);
}

// Each call that ends may start others.
void HttpCallTable::session_lost(SessionGroup& group) {
  const std::string key = group.key;
  const core::Failure gone{
      EndReason::upstream_protocol,
      fmt::format("{} lost the session that this call was made in before it answered", server_.name)};
  const core::Failure broken{
      EndReason::upstream_unreachable,
      fmt::format("{} broke off its stream, and the session that it was to be resumed in is over",
                  server_.name)};
  for (HttpCall* call : group.under_way()) {
    if (groups_.find(key) != &group) return;
    if (call->list == nullptr || call->in_session != group.session_number()) continue;
    if (auto doubt = std::exchange(call->doubt, std::nullopt)) {
      if (!doubt->accepted) {
        repeat(*call, group);
      } else {
        end_doubt(*call, std::move(*doubt));
      }
    } else if (!call->messages) {
      fail(*call, broken);
    } else if (call->messages->status() != 0) {
      fail(*call, gone);
    } else {
      call->timer.start(kLastWord, [this, call, gone] { fail(*call, gone); });
    }
  }
}

void HttpCallTable::session_kept(SessionGroup& group) {
  const std::string key = group.key;
  for (HttpCall* call : group.under_way()) {
    if (groups_.find(key) != &group) return;
    if (call->list == nullptr) continue;
    auto doubt = std::exchange(call->doubt, std::nullopt);
    if (doubt) end_doubt(*call, std::move(*doubt));
  }
}

}  // namespace lineward::upstream
