#include "upstream/session_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mcp/legacy_server.h"
#include "mcp/targets.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// A session that lived this long did start properly.
constexpr milliseconds kStable{10000};
// So many sessions in a row may be lost before those who listen are told.
constexpr uint32_t kMaxLosses = 6;

}  // namespace

SessionGroup::SessionGroup(net::Loop& loop, const config::Server& server, const SessionPlan& plan,
                           LegacyListens& its_listens)
    : key(plan.key),
      family(plan.family.empty() ? plan.key : plan.family),
      era(plan.era),
      home(plan.home),
      own_handshake(!plan.initialize_params.empty()),
      per_call(plan.per_call),
      plain(plan.plain),
      exclusive(plan.slots > 0),
      listens(its_listens),
      loop_(loop),
      server_(server),
      last_used_(loop.now()) {
  initialize_params_.keep(plan.initialize_params);
  key_bytes_.set(3 * key.size());  // its name is in two tables too
}

bool SessionGroup::translates(const HttpCall& call) const {
  return call.request.client_era == mcp::Era::modern && era == mcp::Era::legacy;
}

// ---- its sessions ----

void SessionGroup::opened() {
  ++opened_;
  revive_ = false;
  opened_at_ = loop_.now();
}

std::string_view SessionGroup::initialize_params() const {
  return (own_handshake ? initialize_params_ : replay_params_).text();
}

bool SessionGroup::opens_again(bool at_once) {
  losses_ = loop_.now() - opened_at_ > kStable ? 1 : losses_ + 1;
  const uint32_t doublings = losses_ - 1 - (at_once && losses_ > 1 ? 1 : 0);
  milliseconds wait = server_.restart.backoff * (1ll << std::min(doublings, 20u));
  if (at_once && losses_ == 1) wait = milliseconds(0);
  not_before_ = loop_.now() + std::min<milliseconds>(wait, server_.restart.max_backoff);
  return losses_ <= kMaxLosses;
}

bool SessionGroup::must_wait(std::function<void()> over) {
  if (loop_.now() >= not_before_) return false;
  if (!wake_) wake_ = std::make_unique<net::Timer>(loop_);
  if (!wake_->running()) wake_->start(not_before_ - loop_.now(), std::move(over));
  return true;
}

void SessionGroup::remember_handshake(std::string params, const AccountPtr& account) {
  replay_params_.keep(std::move(params), account);
}

void SessionGroup::remember(const HttpCall& call) {
  if (own_handshake) return;
  const mcp::Message& message = call.request.message;
  switch (call.request.method) {
    case Method::logging_set_level: level_params_ = mcp::level_params(message); break;
    case Method::resources_subscribe:
      if (subscriptions_.size() < mcp::kMostSubscriptions)
        subscriptions_.insert(message.text(Field::params_uri), call.request.account());
      break;
    case Method::resources_unsubscribe: subscriptions_.erase(message.text(Field::params_uri)); break;
    default: break;
  }
}

void SessionGroup::replay() {
  if (!level_params_.empty()) session->send_own("logging/setLevel", level_params_, nullptr);
  for (const std::string& uri : subscriptions_)
    session->send_own("resources/subscribe", mcp::uri_params(uri), nullptr);
  if (scope == nullptr) return;
  for (std::string& notice :
       mcp::notices_of_lost_state(session->legacy_server(), server_.name, level_params_)) {
    auto message = mcp::Message::parse(std::move(notice));
    if (message && scope != nullptr) scope->on_scope_message(std::move(*message), std::nullopt);
  }
}

// For a legacy client its session ends with the server's (behaviour.md 11). A session of Lineward's own is no
// client's business.
core::Failure SessionGroup::session_over() const {
  if (replays()) {
    return {
        EndReason::upstream_protocol,
        fmt::format("{} answered 404 in a session that it had only just given to Lineward", server_.name)};
  }
  core::Failure failure{EndReason::upstream_protocol,
                        fmt::format("{} has ended this session; initialize again", server_.name)};
  failure.session_over = true;
  return failure;
}

// ---- whose a message is ----

// A server may have more to say about a call than its answer, and say it afterwards (behaviour.md 13).
bool SessionGroup::note_over(const HttpCall& call) {
  if (call.is_listen() || call.request.of_gateway) return false;
  doubt_until_ = loop_.now() + server_.timeouts.cancel_grace;
  if (!mcp::may_ask(call.request.method)) return false;
  asked_until_ = doubt_until_;
  if (exclusive) unsettled_ = true;
  return exclusive;
}

void SessionGroup::keep_apart() {
  apart_until_ = loop_.now() + server_.timeouts.cancel_grace;
}

bool SessionGroup::takes_question() const {
  if (is_apart()) return false;
  auto asks = [](const HttpCall& call) { return mcp::may_ask(call.request.method); };
  auto waits = [&](const HttpCall* call) { return asks(*call); };
  return std::none_of(queue.begin(), queue.end(), waits) && !calls.any(asks);
}

void SessionGroup::settle_turn() {
  if (std::exchange(unsettled_, false) && answered_lately() && session->over_sse()) session->waits().settle_turn();
}

HttpCall* SessionGroup::asking_call() const {
  return calls.only([](const HttpCall& call) { return mcp::may_ask(call.request.method); });
}

HttpCall* SessionGroup::only_call() const {
  if (loop_.now() < doubt_until_) return nullptr;
  return calls.only([](const HttpCall& call) { return !call.is_listen(); });
}

void SessionGroup::refuse_open(HttpCall& call) {
  for (std::string& refusal : call.open_questions.refuse()) {
    if (session) session->post(std::move(refusal));
  }
}

}  // namespace lineward::upstream
