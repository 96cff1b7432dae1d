// A stdio server as an upstream: its era, and its callers in groups that may share processes.
//
// Groups follow behaviour.md 5 (isolation): a legacy session has a process of its own, initialised with that
// client's own parameters; modern clients share one on a modern server; on a legacy server they are grouped
// by principal and by the capabilities they declare. `principal`, `shared` and `call` cut coarser or finer.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/upstream.h"
#include "net/lifetime.h"
#include "upstream/circuit_breaker.h"
#include "upstream/era_probe.h"
#include "upstream/instance_group.h"
#include "upstream/spare_pool.h"
#include "upstream/spawn_budget.h"
#include "upstream/wait_line.h"

namespace lineward::upstream {

class StdioUpstream final : public core::Upstream, public GroupHome {
 public:
  StdioUpstream(net::Loop& loop, net::Spawner& spawner, const config::Server& server);
  ~StdioUpstream() override;

  // Asks for the era now rather than at the first call; `ready` (may be empty) hears the verdict once.
  void warm_up(std::function<void(const Verdict&)> ready);
  // Called when an instance is gone that was not told to go.
  void on_lost(std::function<void()> lost) { lost_ = std::move(lost); }

  const std::string& name() const override { return server_.name; }
  const config::Server& server() const { return server_; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner) override;
  void open_scope(const core::Scope& scope, core::ScopeOwner& owner) override;
  void close_scope(const core::Scope& scope) override;
  void forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) override;
  std::optional<std::vector<std::string>> versions() const override;
  std::optional<mcp::Era> era() const override;
  core::Tells tells() const override { return verdict_.tells; }
  core::UpstreamStatus status() const override;
  void wake() override;
  void reconfigured() override { schedule_pump(); }
  void stop(std::function<void()> done) override;

  // For StdioCall: how many there are (listens aside), and taking an unwritten one out of its queue.
  void count_call(int change) { live_calls_ += static_cast<size_t>(change); }
  CallerShares& shares() { return shares_; }
  void withdraw(StdioCall& call);
  void call_answered(bool trial) { trial ? instance_answered(true) : breaker_.succeeded(); }
  void trial_withdrawn() { breaker_.withdrawn(); }

  // GroupHome
  bool room_for_instance(const InstanceGroup& asking) override;
  bool room_soon() const override { return !leaving_.empty(); }
  std::unique_ptr<StdioInstance> take_spare() override { return spares_.take(); }
  std::chrono::milliseconds start_pause(std::chrono::milliseconds not_before) override;
  void start_begun() override { budget_.started(loop_.now()); }
  void instance_answered(bool of_call) override;
  void instance_died(const StdioInstance& instance, const ProcessEnd& end) override;
  void start_failed(const ProcessEnd& end) override;
  bool room_in_flight() const override { return in_flight_ < server_.limits.max_in_flight; }
  void count_in_flight(int64_t change) override { in_flight_ += static_cast<size_t>(change); }
  bool stopping() const override { return stopping_; }
  void schedule_pump() override { pump_later_.schedule(); }
  void schedule_pump(InstanceGroup& group) override {
    wanting_.add(group);
    schedule_pump();
  }
  void take_leaving(std::unique_ptr<StdioInstance> instance) override {
    leaving_.push_back(std::move(instance));
  }
  void instance_gone(StdioInstance& instance) override;
  void instance_lost() override;
  void group_served(InstanceGroup& group) override { close_group(group, "served its one call"); }

 private:
  void on_verdict(const Verdict& verdict);
  void probe();
  // Of a legacy client.
  GroupPlan plan_for(const core::Scope& scope);
  std::string modern_key(const core::Scope& scope) const;
  Result<GroupPlan, core::Failure> plan_for(const core::CallRequest& request);
  InstanceGroup& group_for(GroupPlan plan);
  InstanceGroup* session_group(const core::Scope& scope);
  void pump();
  void close_group(InstanceGroup& group, std::string_view why);
  void drop_group(const std::string& key);
  void free_closed_groups();
  void reap();
  void check_stopped();
  // Health (stdio_health.cc).
  bool refused_by_circuit(const core::CallRequest& request, bool& trial);
  void failed(std::string why);
  void note_verdict();
  void fill_spares();

  net::Loop& loop_;
  net::Spawner& spawner_;
  const config::Server& server_;
  CircuitBreaker breaker_{server_.circuit_breaker};
  SpawnBudget budget_{server_.restart};
  Verdict verdict_;
  std::chrono::milliseconds verdict_until_{0};
  bool verdict_from_exit_ = false;  // weak: the sibling exited without a word
  uint32_t failed_probes_ = 0;
  std::chrono::milliseconds probe_not_before_{0};
  net::Timer probe_timer_;
  std::unique_ptr<EraProbe> probe_;
  std::function<void(const Verdict&)> on_ready_;
  std::function<void()> lost_;
  std::function<void()> stopped_;
  std::unordered_map<std::string, std::unique_ptr<InstanceGroup>> groups_;
  WaitLine<InstanceGroup> wanting_;   // of them: each that wants_pump, and some that no longer do
  std::deque<StdioCall*> undecided_;  // modern calls that wait for the verdict
  SparePool spares_{loop_, spawner_, server_, *this};
  std::vector<std::unique_ptr<StdioInstance>> leaving_;
  std::vector<std::unique_ptr<InstanceGroup>> closed_groups_;  // until the last of their processes is gone
  net::Timer reaper_;
  // Of one pump: so many processes run, those that are ending included; so many more are wanted than there
  // may be; nothing more can be taken.
  struct Room {
    size_t running = 0, wanted = 0;
    bool exhausted = false;
    struct OfCaller {
      size_t running = 0;
      bool exhausted = false;
    };
    std::unordered_map<const Account*, OfCaller> of_caller;
  };
  std::optional<Room> room_;
  net::Timer room_timer_;
  size_t live_calls_ = 0;
  CallerShares shares_;
  size_t in_flight_ = 0;  // of all groups
  uint64_t next_group_ = 1;
  net::Deferred pump_later_;
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
