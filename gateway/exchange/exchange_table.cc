#include "exchange/exchange_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "config/aggregate.h"
#include "mcp/methods.h"

namespace lineward::exchange {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;

ExchangeTable::ExchangeTable(net::Loop& loop, const config::Config& config)
    : loop_(loop),
      servers_(loop, log_),
      load_limits_(config.listen),
      park_(loop, [this](const ParkedCall& call, core::CancelInitiator initiator) {
        log_.cancelling_parked(call.tag, *call.stats, initiator);
      }) {}

ExchangeTable::~ExchangeTable() {
  servers_.close();
}

Lease ExchangeTable::served(const core::Arrival& arrival) {
  if (!arrival.session.empty()) {
    auto link = links_.find(arrival.session);
    if (link != links_.end()) return link->second->lease();
  }
  return servers_.lease(arrival.upstream);
}

client::Session* ExchangeTable::session(const std::string& id) {
  return sessions_ != nullptr && !id.empty() ? sessions_->find(id) : nullptr;
}

core::ExchangeId ExchangeTable::start(core::Arrival&& arrival, std::unique_ptr<core::ReplyStream> reply) {
  LiveExchanges::Name name = live_.next_name();
  auto exchange = std::make_unique<Exchange>(loop_, *this, name.id, std::move(name.call_id),
                                             std::move(arrival), std::move(reply));
  Exchange& started = live_.put(name, std::move(exchange));
  if (client::Session* owner = session(started.arrival().session)) ++owner->exchanges;
  started.counts_for_principal = load_limits_.came(started.arrival().principal);
  if (!started.is_listen()) in_flight_->fetch_add(1, std::memory_order_relaxed);
  started.begin();
  if (listens_ended_ && started.is_listen())
    started.tell(EndReason::cancelled_drain, "the gateway is stopping");
  return name.id;
}

// Every counter that start() has raised goes down here, and nowhere else.
void ExchangeTable::retire(Exchange& exchange) {
  std::unique_ptr<Exchange> over = live_.take(exchange);
  LW_DEBUG_CHECK(over != nullptr);
  if (!over) return;
  if (exchange.counts_for_principal) load_limits_.went(exchange.arrival().principal);
  if (!exchange.is_listen()) in_flight_->fetch_sub(1, std::memory_order_relaxed);
  const std::string& session_id = exchange.arrival().session;
  if (!session_id.empty()) {
    auto link = links_.find(session_id);
    client::Session* owner = session(session_id);
    if (owner == nullptr) {
      live_.session_over(session_id);
    } else {
      --owner->exchanges;
      sessions_->touch(*owner);
      // A session of a server that a reload took away goes with its last call, and one that nobody can name.
      const bool retiring = link != links_.end() && link->second->lease()->retiring;
      if (owner->exchanges == 0 && (retiring || owner->ends_when_idle)) session_lost(session_id);
    }
  }
  loop_.retire(std::move(over));
  if (live_.size() == 0 && empty_) loop_.defer(std::exchange(empty_, nullptr));
}

void ExchangeTable::when_empty(std::function<void()> empty) {
  empty_ = std::move(empty);
  if (live_.size() == 0 && empty_) loop_.defer(std::exchange(empty_, nullptr));
}

void ExchangeTable::client_gone(core::ExchangeId id, EndReason why) {
  if (Exchange* exchange = live_.find(id)) exchange->client_gone(why);
}

void ExchangeTable::cancelled(core::ExchangeId id, std::string_view why) {
  Exchange* exchange = live_.find(id);
  if (exchange == nullptr) return;
  exchange->tell(EndReason::cancelled_client, why.empty() ? "cancelled by the client" : why);
}

// ---- servers that leave ----

ExchangeTable::Work ExchangeTable::work_of(const core::Upstream& upstream) {
  Work work;
  live_.for_each([&](const Exchange& exchange) {
    if (exchange.lease() && &exchange.lease().upstream() == &upstream && !exchange.is_listen()) ++work.calls;
  });
  work.calls += park_.count_of(upstream);
  for (const auto& [id, link] : links_)
    work.sessions += &link->upstream() == &upstream ? 1 : 0;
  return work;
}

void ExchangeTable::retire_upstream(core::Upstream& upstream, bool replaced, std::function<void()> left) {
  const Lease retired = servers_.retire(upstream, std::move(left));  // not before all is told
  if (!retired) return;
  const std::string name = upstream.name();
  const std::string why = replaced ? name + " was changed by a reload" : name + " was removed by a reload";
  for (Exchange* listen : live_.listens()) {
    if (listen->lease().get() == retired.get()) listen->tell(EndReason::cancelled_drain, why);
  }
  if (!replaced) park_.end_of(*retired.get(), why);
  if (sessions_ == nullptr) return;
  for (const std::string& id : sessions_->ids()) {
    client::Session* one = session(id);
    auto link = links_.find(id);
    bool its = link != links_.end() ? link->second->lease().get() == retired.get()
                                    : !replaced && one->upstream == name;  // not initialised yet
    if (its && one->exchanges == 0) session_lost(id);
  }
}

// ---- notifications and answers of clients ----

void ExchangeTable::notified(core::Arrival&& arrival) {
  if (arrival.method == Method::cancelled) return cancelled_by_message(arrival);
  if (arrival.message.method().rfind("notifications/", 0) != 0) {
    log::write(log::Level::info, "client.dropped",
               {{"kind", "request_without_id"}, {"remote", arrival.peer}});
    return;
  }
  Lease to = served(arrival);
  if (!to) return;
  core::Scope scope{arrival.session, arrival.principal, arrival.affinity};
  if (plugins_ && config::is_aggregate(arrival.upstream)) {
    auto by = std::make_shared<core::Origin>();
    by->endpoint = arrival.upstream;
    by->peer = arrival.peer;
    by->caller = arrival.caller;
    by->session = arrival.session;
    scope.by = std::move(by);
  }
  if (arrival.era == mcp::Era::modern) return to.upstream().notify(scope, arrival.message, arrival.headers);
  if (arrival.session.empty()) return to.upstream().pass_notification(arrival.message, arrival.headers);
  to.upstream().forward(scope, arrival.era, arrival.message);
}

// A legacy client's own cancel: its id means one of its own calls only. On modern HTTP a cancel is the closed
// stream; a message cancels nothing and goes nowhere (SDK clients send one with their listen id).
void ExchangeTable::cancelled_by_message(const core::Arrival& arrival) {
  std::string reason = arrival.message.text(Field::params_reason);
  if (arrival.era == mcp::Era::legacy && arrival.message.has(Field::params_request_id)) {
    std::string wanted = mcp::canonical_id(arrival.message.raw(Field::params_request_id));
    if (core::ExchangeId meant = live_.newest_of_client(arrival.session, wanted))
      return cancelled(meant, reason);
  }
  log::write(log::Level::debug, "client.dropped", {{"kind", "cancel_of_nothing"}, {"remote", arrival.peer}});
}

void ExchangeTable::answered(const std::string& session_id, mcp::Message answer) {
  auto link = links_.find(session_id);
  if (link != links_.end()) link->second->answer(answer);
}

// ---- sessions ----

bool ExchangeTable::session_opening(Exchange& exchange) {
  const core::Arrival& arrival = exchange.arrival();
  if (!exchange.lease() || arrival.session.empty()) return true;
  // Its server holds a reference to the link that there is.
  if (links_.count(arrival.session) > 0) return false;
  if (client::Session* opening = session(arrival.session)) opening->client_info = exchange.client_info();
  core::Scope scope{arrival.session, arrival.principal, {}};
  auto& link = links_[arrival.session];
  link = std::make_unique<SessionLink>(*this, exchange.lease(), scope);
  link->upstream().open_scope(scope, *link);
  return true;
}

void ExchangeTable::session_opened(Exchange& exchange, const mcp::Message* result) {
  const std::string id = exchange.arrival().session;
  client::Session* opened = session(id);
  if (opened == nullptr) return;
  if (result != nullptr) {
    opened->revision = result->text(Field::result_protocol_version).substr(0, 64);
    if (shares_sessions_) share(*opened);
    log::write(
        log::Level::info, "session.open",
        {{"session", id.substr(0, 8)}, {"upstream", opened->upstream}, {"revision", opened->revision}});
    return;
  }
  // It never came to be. Not from here: the failed exchange is on the stack.
  loop_.defer([this, id] { session_ended(id); });
}

void ExchangeTable::task_started(Exchange& exchange, std::string_view token,
                                 const std::string& client_token) {
  auto link = links_.find(exchange.arrival().session);
  if (link != links_.end()) link->second->task_started(token, client_token);
}

void ExchangeTable::session_ended(const std::string& id) {
  client::Session* ending = session(id);
  if (ending == nullptr) return;
  // `id` may live in what goes now.
  const std::string session_id = id;  // NOLINT(performance-unnecessary-copy-initialization)
  if (!ending->revision.empty()) {
    core::stats().server_sessions[core::revision_slot(ending->revision)].observe(loop_.now() -
                                                                                 ending->opened);
  }
  log::write(log::Level::info, "session.close",
             {{"session", session_id.substr(0, 8)}, {"upstream", ending->upstream}});
  for (Exchange* exchange : live_.of_session(session_id)) {
    exchange->tell(EndReason::cancelled_client, "the session ended");
    exchange->client_gone(EndReason::cancelled_client);  // an `initialize`, which takes no cancel
  }
  auto link = links_.find(session_id);
  if (link != links_.end()) {
    close_scope(*ending, *link->second);
    loop_.retire(std::move(link->second));
    links_.erase(link);
  }
  sessions_->remove(session_id);
  live_.session_over(session_id);
}

// Not from here: the call that learnt of it may be on the stack, and is to be told first.
void ExchangeTable::session_lost(const std::string& id) {
  loop_.defer([this, id] { session_ended(id); });
}

std::optional<std::string> ExchangeTable::judge(const core::Scope& scope, mcp::Message& message) {
  const client::Session* to = session(scope.session);
  const std::string upstream = to == nullptr ? std::string() : to->upstream;
  return judge_of_server(plugins_, upstream, scope, message);
}

// ---- for people and metrics ----

void ExchangeTable::cancelling(const Exchange& exchange, core::CancelInitiator initiator) {
  log_.cancelling(exchange.tag(), exchange.stats(), initiator);
}

void ExchangeTable::ending(Exchange& exchange) {
  if (exchange.arrival().session.empty()) return;
  auto link = links_.find(exchange.arrival().session);
  if (link != links_.end()) link->second->exchange_ended(exchange.id(), exchange.answered_by_server());
}

void ExchangeTable::ended(Exchange& exchange, EndReason reason, int code) {
  EndedCall& ended = log_.next(exchange.tag());
  exchange.tell_story(ended, reason, code);
  if (!ended.call.session.empty()) ended.call.client_info = client_of(ended.call);
}

// A legacy client says who it is when it opens its session.
std::string ExchangeTable::client_of(const CallView& view) {
  if (!view.client_info.empty() || view.session.empty()) return view.client_info;
  client::Session* owner = session(view.session);
  return owner != nullptr ? owner->client_info : std::string();
}

std::vector<CallView> ExchangeTable::views() {
  std::vector<CallView> out;
  live_.for_each([&](const Exchange& exchange) { out.push_back(exchange.view()); });
  for (CallView& parked : park_.views())
    out.push_back(std::move(parked));
  std::sort(out.begin(), out.end(), [](const CallView& a, const CallView& b) {
    return a.id.size() != b.id.size() ? a.id.size() < b.id.size() : a.id < b.id;  // as numbers
  });
  std::unordered_map<std::string, size_t> queued;
  for (CallView& view : out) {
    view.client_info = client_of(view);
    if (view.state == CallState::queued) view.ahead = queued[view.upstream]++;
  }
  return out;
}

ExchangeTable::Load ExchangeTable::load(const std::string& upstream_name, bool routed) const {
  Load load;
  live_.for_each([&](const Exchange& exchange) {
    if (exchange.server_name() != upstream_name || exchange.route().empty() == routed) return;
    if (exchange.is_listen()) {
      ++load.listening;
      exchange.count_listens(load.listens);
    } else {
      ++(exchange.waits() ? load.waiting : load.in_flight);
    }
  });
  return load;
}

bool ExchangeTable::cancel(const std::string& call_id, std::string_view why) {
  Exchange* wanted = live_.called(call_id);
  if (wanted == nullptr) return park_.cancel(call_id, why);
  if (wanted->ended()) return false;
  wanted->tell(EndReason::cancelled_operator, why);
  return true;
}

// ---- the end ----

void ExchangeTable::end_listens() {
  listens_ended_ = true;
  park_.close("the gateway is stopping");
  for (Exchange* listen : live_.listens())
    listen->tell(EndReason::cancelled_drain, "the gateway is stopping");
}

void ExchangeTable::end_all(EndReason reason, std::string_view why) {
  park_.close(why);
  for (Exchange* exchange : live_.all())
    exchange->tell(reason, why);
}

}  // namespace lineward::exchange
