#include "proxy/upstream/http/session_group.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/base/backoff.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using std::chrono::milliseconds;

// A session that lived this long worked properly.
constexpr milliseconds kStable{10000};
// Lost sessions in a row before open listens are ended.
constexpr uint32_t kMaxLosses = 6;

}  // namespace

Result<SessionPlan, core::Failure> SessionPlanner::plan(const core::UpstreamRequest& request, mcp::Era era) {
  if (is_stateless(request, era)) return stateless_;
  auto group = grouping_.of(request, era);
  if (!group) return Unexpected<core::Failure>{group.error()};
  SessionPlan plan(std::move(*group));
  if (plan.bridged) return plan;  // whichever credentials the call has
  const bool clients_own = plan.initialize_params.empty();
  plan.plain = clients_own && request.scope.session.empty();
  if (plan.plain) plan.key = "plain";
  if (clients_own && !plan.plain) return plan;
  // A session belongs to callers with the same credentials.
  const std::string identity = identity_of(forwarded_headers(server_, request.headers));
  if (!identity.empty()) plan.key += ":as:" + identity;
  return plan;
}

SessionGroup::SessionGroup(net::Loop& loop, const config::Server& server, const SessionPlan& plan,
                           LegacyListens& its_listens)
    : key(plan.key),
      family(plan.family.empty() ? plan.key : plan.family),
      era(plan.era),
      listens_here(plan.listens_here),
      own_handshake(!plan.initialize_params.empty()),
      per_call(plan.per_call),
      bridged(plan.bridged),
      plain(plan.plain),
      exclusive(plan.exclusive),
      listens(its_listens),
      facade(server),
      attribution(loop, server),
      loop_(loop),
      server_(server),
      last_used_(loop.now()),
      reopening_(loop, server) {
  facade.keep_handshake(plan.initialize_params);
  key_bytes_.set(3 * key.size());  // the key is stored in two tables too
}

bool SessionGroup::translates(const HttpCall& call) const {
  return call.request.client_era == mcp::Era::modern && era == mcp::Era::legacy;
}

// ---- its calls ----

void SessionGroup::join(HttpCall& call) {
  call.group = key;
  if (call.is_listen()) call.family = family;
  http_status_visible_ = call.request.http_status_visible;
  if (era == mcp::Era::legacy) lasting_ = lasting_headers(forwarded_headers(server_, call.request.headers));
  queue_.join(call);
}

void SessionGroup::sent(HttpCall& call) {
  calls_.add(call);
  used();
  listens.asked();
}

// ---- its sessions ----

std::unique_ptr<HttpSession> SessionGroup::replace_session(std::unique_ptr<HttpSession> next) {
  return std::exchange(session_, std::move(next));
}

void SessionGroup::opened() {
  ++opened_;
  revive_ = false;
  is_reclaimed_ = false;
  reopening_.opened();
}

void SessionGroup::remember(const HttpCall& call) {
  if (!own_handshake) facade.remember(call.request);
}

void SessionGroup::replay() {
  facade.replay(*session_);
  facade.tell_state_is_gone(session_->legacy_server(), scope_);
}

// A legacy client's session ends with the server's (behaviour.md 11). Lineward's own sessions do not concern
// clients.
core::Failure SessionGroup::session_over() const {
  if (replays()) {
    return {EndReason::upstream_protocol,
            fmt::format(
                "{} does not know the session that it has only just given to Lineward: does another replica "
                "of it answer? A session needs the replica that opened it",
                server_.name)};
  }
  core::Failure failure{EndReason::upstream_protocol,
                        fmt::format("{} has ended this session; initialize again", server_.name)};
  failure.session_over = true;
  return failure;
}

// ---- owners of messages ----

void SessionGroup::keep_apart() {
  apart_until_ = loop_.now() + server_.timeouts.cancel_grace;
}

bool SessionGroup::takes_question() const {
  if (is_apart()) return false;
  auto asks = [](const HttpCall& call) { return mcp::may_ask(call.request.method); };
  return !queue_.any(asks) && !calls_.any(asks);
}

void SessionGroup::acquire_turn() {
  const bool is_unsettled = attribution.is_unsettled();
  attribution.settled();
  if (is_unsettled && session_->over_sse()) session_->acquire_turn();
}

PossibleCalls SessionGroup::possible(const mcp::Message& message) const {
  PossibleCalls calls(&message);
  calls_.each([&](HttpCall& call) {
    if (!call.is_listen()) calls.add(PossibleCall::of(call));
  });
  return calls;
}

void SessionGroup::refuse_open(HttpCall& call) {
  for (std::string& refusal : call.open_questions.refuse()) {
    if (session_) session_->post(std::move(refusal));
  }
}

// ---- the pause before another session ----

bool ReopenPause::lost(First first) {
  const bool at_once = first == First::at_once;
  losses_ = loop_.now() - opened_at_ > kStable ? 1 : losses_ + 1;
  const uint32_t doublings = losses_ - 1 - (at_once && losses_ > 1 ? 1 : 0);
  not_before_ = loop_.now();
  if (!at_once || losses_ > 1)
    not_before_ += Backoff::exact({server_.restart.backoff, server_.restart.max_backoff}, doublings);
  return losses_ <= kMaxLosses;
}

bool ReopenPause::must_wait(std::function<void()> over) {
  if (loop_.now() >= not_before_) return false;
  if (!wake_.running()) wake_.start(not_before_ - loop_.now(), std::move(over));
  return true;
}

}  // namespace lineward::upstream
