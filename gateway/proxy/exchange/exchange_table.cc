#include "proxy/exchange/exchange_table.h"

#include <algorithm>

#include "config/aggregate.h"
#include "foundation/base/check.h"
#include "foundation/log/log.h"
#include "protocol/mcp/methods.h"
#include "proxy/audit/audit.h"
#include "proxy/core/tool_view.h"

namespace lineward::exchange {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;

ExchangeTable::ExchangeTable(net::Loop& loop, const config::Config& config)
    : ExchangeCallbacks(park_, config.errors),
      loop_(loop),
      servers_(loop, log_),
      load_limits_(config.listen),
      park_(loop,
            [this](const ParkedCall& call, metrics::CancelInitiator initiator) {
              log_.note_parked_cancel(call.tag, *call.stats, initiator);
            }),
      sessions_(loop, live_, servers_, plugins_) {}

ExchangeTable::~ExchangeTable() {
  servers_.close();
}

ServerRef ExchangeTable::served(const core::ClientRequest& request) const {
  if (!request.session.empty()) {
    if (ServerRef with = sessions_.lease(request.session)) return with;
  }
  return servers_.lease(request.upstream);
}

core::ExchangeId ExchangeTable::start(core::IncomingMessage&& arrival,
                                      std::unique_ptr<core::ReplyStream> reply) {
  ServerRef server = served(*arrival.from);
  // Before anything judges it, also by its name: policies, limits and records use the server's own names.
  core::Naming naming = core::Naming::same;
  std::string unknown;
  if (server && !server->config.tools.shown.empty() && !config::is_aggregate(arrival.from->upstream)) {
    naming = core::to_own_name(server->config.tools, arrival.from->method, arrival.message);
    if (naming == core::Naming::unknown) unknown = core::tool_named_by(arrival.from->method, arrival.message);
  }
  LiveExchanges::Name name = live_.next_name();
  auto exchange = std::make_unique<Exchange>(loop_, *this, name.id, std::move(name.call_id),
                                             std::move(arrival), std::move(reply));
  Exchange& started = live_.put(name, std::move(exchange));
  if (!started.from().session.empty()) sessions_.exchange_began(started);
  if (!started.is_listen()) {
    started.counts_for_principal = load_limits_.came(started.from().principal);
    load_limits_.all().requests.fetch_add(1, std::memory_order_relaxed);
  }
  moved(started, CallMoment::begin);
  auto refusal = overloaded(started);
  if (!refusal && naming == core::Naming::unknown) refusal = core::unknown_tool(unknown);
  started.begin({std::move(server), plugins_, std::move(refusal), naming == core::Naming::renamed});
  if (listens_ended_ && started.is_listen())
    started.cancel(EndReason::cancelled_drain, "the gateway is stopping");
  return name.id;
}

// All counters that start() has raised are lowered here only.
void ExchangeTable::retire(Exchange& exchange) {
  std::unique_ptr<Exchange> over = live_.take(exchange);
  LW_DEBUG_CHECK(over != nullptr);
  if (!over) return;
  if (exchange.counts_for_principal) load_limits_.went(exchange.from().principal);
  if (!exchange.is_listen()) load_limits_.all().requests.fetch_sub(1, std::memory_order_relaxed);
  sessions_.exchange_ended(exchange);
  loop_.retire(std::move(over));
  if (live_.size() == 0 && empty_) loop_.defer(std::exchange(empty_, nullptr));
}

std::optional<core::Failure> ExchangeTable::overloaded(const Exchange& exchange) const {
  if (closed_) return core::Failure{EndReason::cancelled_drain, "the gateway is stopping"};
  // With a mandatory audit log no request runs while it cannot be recorded.
  if (const std::string_view why = audit::refusal(); !why.empty())
    return core::Failure{EndReason::queue_full, std::string(why)};
  return load_limits_.refusal(exchange.from().principal, exchange.is_listen(),
                              exchange.is_listen() || exchange.from().method == Method::initialize,
                              exchange.from().bytes_in, exchange.from().account.get());
}

void ExchangeTable::when_empty(std::function<void()> empty) {
  empty_ = std::move(empty);
  if (live_.size() == 0 && empty_) loop_.defer(std::exchange(empty_, nullptr));
}

void ExchangeTable::client_left(core::ExchangeId id, EndReason why) {
  if (Exchange* exchange = live_.find(id)) exchange->client_left(why);
}

void ExchangeTable::cancel(core::ExchangeId id, std::string_view why) {
  Exchange* exchange = live_.find(id);
  if (exchange == nullptr) return;
  exchange->cancel(EndReason::cancelled_client, why.empty() ? "cancelled by the client" : why);
}

// ---- retiring servers ----

ExchangeTable::Work ExchangeTable::work_of(const core::Upstream& upstream) {
  Work work;
  live_.for_each([&](const Exchange& exchange) {
    if (exchange.lease() && &exchange.lease().upstream() == &upstream && !exchange.is_listen()) ++work.calls;
  });
  work.calls += park_.count_of(upstream);
  work.sessions = sessions_.count_of(upstream);
  return work;
}

void ExchangeTable::retire_upstream(core::Upstream& upstream, Retirement how, const std::string& why,
                                    std::function<void()> left) {
  const ServerRef retired = servers_.retire(upstream, std::move(left));  // `left` is not called before
                                                                         // this returns
  if (!retired) return;
  for (Exchange* listen : live_.listens()) {
    if (listen->lease().get() == retired.get()) listen->cancel(EndReason::cancelled_drain, why);
  }
  if (how == Retirement::removed) park_.end_of(*retired.get(), why);
  sessions_.end_idle_of(retired, how);
}

// ---- notifications and answers of clients ----

void ExchangeTable::notified(core::IncomingMessage&& arrival) {
  if (arrival.from->method == Method::cancelled) return cancel_by_message(arrival);
  if (arrival.message.method().rfind("notifications/", 0) != 0) {
    log::write(log::Level::info, "client.dropped",
               {{"kind", "request_without_id"}, {"remote", arrival.from->peer}});
    return;
  }
  ServerRef to = served(*arrival.from);
  if (!to) return;
  core::Scope scope{arrival.from->session, arrival.from->principal, arrival.from->affinity};
  if (plugins_ && config::is_aggregate(arrival.from->upstream)) scope.by = arrival.from;
  const bool has_session = arrival.from->era == mcp::Era::modern || !arrival.from->session.empty();
  if (!has_session && to.upstream().facts().keeps_sessions != false) return;
  to.upstream().send(scope, arrival.from->era, arrival.message, arrival.headers);
}

// A cancel message of a legacy client: its id names one of its own calls. A modern HTTP client cancels by
// closing the stream. Its cancel messages are dropped (SDK clients send one with their listen id).
void ExchangeTable::cancel_by_message(const core::IncomingMessage& arrival) {
  std::string reason = arrival.message.text(Field::params_reason);
  if (arrival.from->era == mcp::Era::legacy && arrival.message.has(Field::params_request_id)) {
    std::string wanted = mcp::canonical_id(arrival.message.raw(Field::params_request_id));
    if (core::ExchangeId meant = live_.newest_of_client(arrival.from->session, wanted))
      return cancel(meant, reason);
  }
  log::write(log::Level::debug, "client.dropped",
             {{"kind", "cancel_of_nothing"}, {"remote", arrival.from->peer}});
}

// ---- call log and metrics ----

void ExchangeTable::on_cancel(Exchange& exchange, metrics::CancelInitiator initiator) {
  log_.note_cancel(exchange.tag(), exchange.record().stats_or(exchange.from().upstream), initiator);
  moved(exchange, CallMoment::cancel);
}

void ExchangeTable::ended(Exchange& exchange, EndReason reason, int code) {
  EndedCall& ended = log_.next(exchange.tag());
  exchange.fill(ended, reason, code);
  if (ended.call.client_info.empty()) ended.call.client_info = sessions_.client_info(ended.call.session);
  log_.ended(ended);
}

ExchangeTable::Load ExchangeTable::load(const std::string& upstream, CameTo came_to) const {
  Load load;
  live_.for_each([&](const Exchange& exchange) {
    const CameTo where = exchange.route().empty() ? CameTo::itself : CameTo::aggregate;
    if (exchange.server_name() != upstream || where != came_to) return;
    if (exchange.is_listen()) {
      ++load.listening;
      exchange.record().count_listens(load.listens);
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
  wanted->cancel(EndReason::cancelled_operator, why);
  return true;
}

// ---- the end ----

void ExchangeTable::end_listens() {
  listens_ended_ = true;
  park_.close("the gateway is stopping");
  for (Exchange* listen : live_.listens())
    listen->cancel(EndReason::cancelled_drain, "the gateway is stopping");
}

void ExchangeTable::end_all(EndReason reason, std::string_view why) {
  closed_ = true;
  park_.close(why);
  for (Exchange* exchange : live_.all())
    exchange->cancel(reason, why);
}

}  // namespace lineward::exchange
