// All exchanges of one worker, by id, and the legacy sessions' links. Implements the doors that the client
// side knocks on; owns what it opens.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/session.h"
#include "config/config.h"
#include "core/exchange_door.h"
#include "exchange/call_log.h"
#include "exchange/live_exchanges.h"
#include "exchange/load_limits.h"
#include "exchange/loose_policies.h"
#include "exchange/park_table.h"
#include "exchange/server_directory.h"
#include "exchange/session_link.h"
#include "plugin/plugin_set.h"

namespace lineward::exchange {

class ExchangeTable final : public core::ExchangeDoor, public ExchangeHome, public ExchangeFinder {
 public:
  ExchangeTable(net::Loop& loop, const config::Config& config);
  ~ExchangeTable();

  // Where servers come to. They leave by retire_upstream(), which tells those that are with them.
  ServerDirectory& servers() { return servers_; }
  // It takes no new calls. Those that it has go on; its listens end in order, its sessions when their last
  // call does; `replaced`: another form of it is about to be added, so parked calls wait on for their
  // clients. `left` is called, not from here, when nothing refers to it any more.
  void retire_upstream(core::Upstream& upstream, bool replaced, std::function<void()> left);
  // What it has to do: calls, parked ones too, without listens; and sessions.
  struct Work {
    size_t calls = 0, sessions = 0;
  };
  Work work_of(const core::Upstream& upstream);
  void use_sessions(client::SessionTable& sessions) { sessions_ = &sessions; }
  // Sessions that can be served by other replicas are shared with them, from here on.
  void share_sessions(bool share) { shares_sessions_ = share; }
  // How many requests all workers have together, for listen.maxInFlight.
  using InFlight = std::atomic<size_t>;
  void share_in_flight(std::shared_ptr<InFlight> all) { in_flight_ = std::move(all); }
  // All workers of a process make states alike, so that each can tell whose one is.
  void use_states(const RequestStates& states) { park_.use_states(states); }
  // Parked calls have states that other replicas can tell whose they are. Null: only this process's.
  void share_states(const std::shared_ptr<const SealKeys>& keys, std::string_view replica) {
    park_.share_states(keys, replica);
  }
  // For exchanges that begin from here on; null: none.
  void use_plugins(std::shared_ptr<plugin::PluginSet> plugins) { plugins_ = std::move(plugins); }

  // The exchanges that have not ended.
  LiveExchanges& live() { return live_; }
  size_t size() const { return live_.size(); }
  // Ends every listen in order, and the calls that wait for a client's retry; all others may go on.
  void end_listens();
  // Ends what is left.
  void end_all(mcp::EndReason reason, std::string_view why);
  // For people and metrics. Views in the order of arrival.
  std::vector<CallView> views();
  CallLog& log() { return log_; }
  struct Load {
    size_t in_flight = 0, waiting = 0;  // listens are in neither
    std::array<uint64_t, core::size_of<core::ListenType>> listens{};
    size_t listening = 0;
    void add(const Load& more) {
      in_flight += more.in_flight;
      waiting += more.waiting;
      listening += more.listening;
      for (size_t i = 0; i < listens.size(); ++i)
        listens[i] += more.listens[i];
    }
  };
  // `routed`: of the calls that came to it by the aggregate, else of those that came to it itself.
  Load load(const std::string& upstream, bool routed) const;
  // Ends a call by its name; false when there is no such call in flight.
  bool cancel(const std::string& call_id, std::string_view why);
  // Called (once) when no exchange is left.
  void when_empty(std::function<void()> empty);

  // core::ExchangeDoor
  core::ExchangeId start(core::Arrival&& arrival, std::unique_ptr<core::ReplyStream> reply) override;
  void client_gone(core::ExchangeId id, mcp::EndReason why) override;
  void cancelled(core::ExchangeId id, std::string_view why) override;
  std::optional<core::Denial> judge(core::Arrival& arrival) override {
    return judge_of_client(plugins_, arrival);
  }
  void notified(core::Arrival&& arrival) override;
  void answered(const std::string& session, mcp::Message answer) override;
  void session_ended(const std::string& session) override;
  bool adopt_session(const std::string& session, const core::ScopeState& state) override;
  void session_stream(const std::string& session, bool open, const core::HeaderFields& headers) override;
  void when_settled(const std::string& session, std::function<void()> done) override;
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

  // ExchangeHome
  Lease served(const core::Arrival& arrival) override;
  ParkTable& park_table() override { return park_; }
  const std::shared_ptr<plugin::PluginSet>& plugins() override { return plugins_; }
  std::optional<core::Failure> overloaded(const Exchange& exchange) override {
    return load_limits_.refusal(in_flight_->load(std::memory_order_relaxed), exchange.arrival().principal,
                                exchange.is_listen(),
                                exchange.is_listen() || exchange.arrival().method == mcp::Method::initialize,
                                exchange.arrival().bytes_in, exchange.arrival().account.get());
  }
  bool session_opening(Exchange& exchange) override;
  void session_opened(Exchange& exchange, const mcp::Message* result) override;
  void task_started(Exchange& exchange, std::string_view token, const std::string& client_token) override;
  void cancelling(const Exchange& exchange, core::CancelInitiator initiator) override;
  void ending(Exchange& exchange) override;
  void ended(Exchange& exchange, mcp::EndReason reason, int code) override;
  void retire(Exchange& exchange) override;

  // ExchangeFinder
  Exchange* find(core::ExchangeId id) override { return live_.find(id); }
  std::vector<Exchange*> of_session(const std::string& session) override { return live_.of_session(session); }
  Exchange* newest_to_ask(const std::string& session) override { return live_.newest_to_ask(session); }
  client::Session* session(const std::string& id) override;
  void session_lost(const std::string& id) override;
  std::optional<std::string> judge(const core::Scope& scope, mcp::Message& message) override;

 private:
  std::string client_of(const CallView& view);
  void cancelled_by_message(const core::Arrival& arrival);
  void share(client::Session& opened);
  void close_scope(const client::Session& ending, SessionLink& link);

  net::Loop& loop_;
  CallLog log_;
  ServerDirectory servers_;  // outlives every lease that is held below
  client::SessionTable* sessions_ = nullptr;
  std::shared_ptr<plugin::PluginSet> plugins_;
  LoadLimits load_limits_;
  // Without listens: each of these has a connection of its own, by which it is bounded.
  std::shared_ptr<InFlight> in_flight_ = std::make_shared<InFlight>(0);
  ParkTable park_;
  LiveExchanges live_;
  std::unordered_map<std::string, std::unique_ptr<SessionLink>> links_;
  std::function<void()> empty_;
  bool listens_ended_ = false;  // the gateway is stopping
  bool shares_sessions_ = false;
};

}  // namespace lineward::exchange
