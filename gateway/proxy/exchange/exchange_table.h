// All exchanges of one worker, by id, and the legacy sessions' links. Implements the API that the client side
// calls; owns the exchanges.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "proxy/core/exchange_api.h"
#include "proxy/exchange/call_log.h"
#include "proxy/exchange/live_exchanges.h"
#include "proxy/exchange/load_limits.h"
#include "proxy/exchange/park_table.h"
#include "proxy/exchange/server_directory.h"
#include "proxy/exchange/session_links.h"
#include "proxy/plugin/plugin_set.h"

namespace lineward::exchange {

class ExchangeTable final : public core::ExchangeApi, public ExchangeCallbacks {
 public:
  ExchangeTable(net::Loop& loop, const config::Config& config);
  ~ExchangeTable();

  // Add servers here; remove them by retire_upstream(), which notifies their calls and sessions.
  ServerDirectory& servers() { return servers_; }
  // The upstream takes no new calls. Running calls continue. Listens end in order; each session ends with its
  // last call. If a new version is about to be added, parked calls keep waiting for their clients. `why`: the
  // text for ended listens and parked calls. `left` is called when nothing refers to the upstream any more,
  // never before this returns.
  void retire_upstream(core::Upstream& upstream, Retirement how, const std::string& why,
                       std::function<void()> left);
  // The load of this upstream: calls sent to its own path, parked ones included, without listens; and
  // sessions.
  struct Work {
    size_t calls = 0, sessions = 0;
  };
  Work work_of(const core::Upstream& upstream);
  // Legacy sessions with their servers.
  SessionLinks& sessions() { return sessions_; }
  // The requests of all workers, for listen.maxInFlight and listen.maxInFlightPerPrincipal.
  void share_in_flight(std::shared_ptr<InFlight> all) { load_limits_.share(std::move(all)); }
  // For exchanges that begin from here on; null: no plugins.
  void use_plugins(std::shared_ptr<plugin::PluginSet> plugins) { plugins_ = std::move(plugins); }
  const std::shared_ptr<plugin::PluginSet>& plugins() const { return plugins_; }

  // The exchanges that have not ended.
  LiveExchanges& live() { return live_; }
  // Ends every listen in order, and all parked calls; other calls continue.
  void end_listens();
  // Ends everything. Later requests are refused.
  void end_all(mcp::EndReason reason, std::string_view why);
  // For operators and metrics; calls in flight: exchange/call_views.h.
  CallLog& log() { return log_; }
  struct Load {
    size_t in_flight = 0, waiting = 0;  // without listens
    std::array<uint64_t, metrics::size_of<metrics::ListenType>> listens{};
    size_t listening = 0;
    void add(const Load& more) {
      in_flight += more.in_flight;
      waiting += more.waiting;
      listening += more.listening;
      for (size_t i = 0; i < listens.size(); ++i)
        listens[i] += more.listens[i];
    }
  };
  // Selects calls that clients sent to the server's own path, or calls that an aggregate routed to it.
  enum class CameTo : bool { itself, aggregate };
  Load load(const std::string& upstream, CameTo came_to) const;
  // Ends a call by its call id; false if no such call is in flight.
  bool cancel(const std::string& call_id, std::string_view why);
  // Called (once) when no exchange is left.
  void when_empty(std::function<void()> empty);

  // core::ExchangeApi
  core::ExchangeId start(core::IncomingMessage&& arrival, std::unique_ptr<core::ReplyStream> reply) override;
  void client_left(core::ExchangeId id, mcp::EndReason why) override;
  void cancel(core::ExchangeId id, std::string_view why) override;
  std::optional<core::PolicyError> judge(core::IncomingMessage& arrival) override {
    return judge_of_client(plugins_, arrival, legacy_status());
  }
  void notified(core::IncomingMessage&& arrival) override;
  bool answered(const std::string& session, mcp::Message answer, core::AnswerCame came) override {
    return sessions_.answered(session, answer, came);
  }
  void session_ended(const std::string& session) override { sessions_.end(session); }
  core::Adoption adopt_session(const std::string& session, const core::ScopeState& state) override {
    return sessions_.adopt(session, state);
  }
  void stream_opened(const std::string& session, const core::HeaderFields& headers) override {
    sessions_.stream_opened(session, headers);
  }
  void stream_closed(const std::string& session) override { sessions_.stream_closed(session); }
  void when_settled(const std::string& session, std::function<void()> done) override {
    sessions_.when_settled(session, std::move(done));
  }
  std::optional<std::vector<std::string>> versions(const std::string& upstream) const override {
    return servers_.versions(upstream);
  }
  std::optional<bool> keeps_sessions(const std::string& upstream) const override {
    return servers_.keeps_sessions(upstream);
  }
  std::unique_ptr<core::Hop> hop(const std::string& upstream, core::HopRequest request,
                                 core::HopListener& listener) override {
    return servers_.hop(upstream, std::move(request), listener);
  }

  // ExchangeCallbacks
  bool session_opening(Exchange& exchange) override { return sessions_.open(exchange); }
  void session_opened(Exchange& exchange, const mcp::Message* result) override {
    sessions_.opened(exchange, result);
  }
  void task_started(Exchange& exchange, std::string_view token, const std::string& client_token) override {
    sessions_.task_started(exchange, token, client_token);
  }
  void on_cancel(Exchange& exchange, metrics::CancelInitiator initiator) override;
  void moved(Exchange& exchange, CallMoment moment) override { log_.watch(moment, exchange); }
  void ending(Exchange& exchange) override { sessions_.exchange_ending(exchange); }
  void ended(Exchange& exchange, mcp::EndReason reason, int code) override;
  void retire(Exchange& exchange) override;

 private:
  ServerRef served(const core::ClientRequest& request) const;
  // Why this request is refused under overload.
  std::optional<core::Failure> overloaded(const Exchange& exchange) const;
  void cancel_by_message(const core::IncomingMessage& arrival);

  net::Loop& loop_;
  CallLog log_;
  ServerDirectory servers_;  // outlives every lease held by the members below
  std::shared_ptr<plugin::PluginSet> plugins_;
  LoadLimits load_limits_;
  ParkTable park_;
  LiveExchanges live_;
  SessionLinks sessions_;
  std::function<void()> empty_;
  bool listens_ended_ = false;  // the gateway is stopping
  bool closed_ = false;         // new calls are refused
};

}  // namespace lineward::exchange
