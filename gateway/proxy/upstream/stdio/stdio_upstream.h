// A stdio server as an upstream: its era, and its callers in groups that may share processes.
//
// Groups follow behaviour.md 5 (isolation). A legacy session has a process of its own, initialised with that
// client's own parameters. Modern clients share one on a modern server. On a legacy server they are grouped
// by principal and by declared capabilities. The options `principal`, `shared` and `call` make coarser or
// finer groups.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "foundation/net/lifetime.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/shared/call_limiter.h"
#include "proxy/upstream/stdio/process_quota.h"
#include "proxy/upstream/stdio/stdio_era_prober.h"
#include "proxy/upstream/stdio/stdio_health.h"

namespace lineward::upstream {

class StdioUpstream final : public core::Upstream,
                            public core::PermitSource,
                            public GroupCallbacks,
                            public ServerEraCallbacks {
 public:
  StdioUpstream(net::Loop& loop, process::Spawner& spawner, const config::Server& server);
  ~StdioUpstream() override;

  // Probes the era now rather than at the first call; `ready` (may be empty) is called once with the verdict.
  // With `start: onUse` it does nothing.
  void warm_up(std::function<void(const EraVerdict&)> ready);
  // For a layer that remembers answers (layers/remembering_upstream.h). Whether a ready process serves this
  // request; the era of an earlier life; `found` is called with each verdict of a probe.
  bool is_running_for(const core::UpstreamRequest& request);
  std::optional<mcp::Era> known_era_for(const core::Scope& scope);
  // A process of this group runs or starts, or a call waits for one.
  bool is_awaited(const std::string& group) const;
  void assume_era(const EraVerdict& verdict);
  // The assumption may be wrong: the next call that needs the era probes it.
  void doubt_era();
  void on_era(std::function<void(const EraVerdict&)> found) { era_found_ = std::move(found); }
  // For the other workers. At most once, before the first call.
  void publish_era(std::shared_ptr<HomeEra> known) { era_.publish_to(std::move(known)); }
  // `lost` is called when an instance has exited that was not stopped.
  void on_lost(std::function<void()> lost) { lost_ = std::move(lost); }

  const config::Server& server() const { return server_; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  Result<std::unique_ptr<core::WaitingPermit>, core::Failure> wait_in_front(
      const core::UpstreamRequest& request) override {
    return places_.wait_in_front(request, live_calls_);
  }
  void open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) override;
  void close_scope(const core::Scope& scope) override;
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) override;
  core::ServerFacts facts() const override { return {era_.known_era(), true, era_.verdict().tells}; }
  core::UpstreamStatus status() const override;
  core::UpstreamParts parts(const core::Scope& scope) override;
  void notice(core::UpstreamNotice what) override;
  void stop(std::function<void()> done) override;

  // For StdioCall: the number of calls (without listens), and removing an unwritten call from its queue.
  void count_call(int change) { live_calls_ += static_cast<size_t>(change); }
  void withdraw(StdioCall& call);

  // GroupCallbacks
  StdioHealth& health() override { return health_; }
  Room room_for_instance(const InstanceGroup& asking, const Account* whose) override {
    return room_.take(asking, whose);
  }
  bool capacity_pending() const override { return groups_.leaving() > 0; }
  std::unique_ptr<StdioInstance> take_spare(const InstanceGroup& asking, const Account* whose) override {
    return room_.take_spare(asking, whose) ? groups_.take_spare() : nullptr;
  }
  void start_failed(const ProcessEnd& end, std::deque<StdioCall*>& refused) override;
  bool serves_as_modern(InstanceGroup& group, const ProcessEnd& end) override;
  bool is_of_other_era(InstanceGroup& group, const mcp::Message& discovered) override;
  size_t& in_flight() override { return in_flight_; }
  bool stopping() const override { return stopping_; }
  void schedule_pump() override { pump_later_.schedule(); }
  void schedule_pump(InstanceGroup& group) override;
  void take_leaving(std::unique_ptr<StdioInstance> instance) override {
    groups_.take_leaving(std::move(instance));
  }
  void instance_gone(StdioInstance& instance) override;
  void instance_lost() override;
  void group_served(InstanceGroup& group) override { groups_.close(group, "served its one call"); }

 private:
  void on_prober_free();
  // ServerEraCallbacks
  void on_era_verdict(const EraVerdict& verdict) override;
  void on_era_known(TransportCall& call) override;

  void pump();
  // No process runs or starts, and none has failed.
  bool is_idle(const core::UpstreamStatus& status) const;
  // The era in which this request is served. A server that speaks both serves legacy sessions in the legacy
  // era, including bridged ones: each is tried so until one was refused.
  mcp::Era era_for(const core::Scope& scope);
  // Adds it to its group's queue, or returns why it is refused.
  std::optional<core::Failure> enqueue(StdioCall& call);

  net::Loop& loop_;
  const config::Server& server_;
  StdioHealth health_{loop_, server_,
                      [this](const core::Failure& refusal) { groups_.refuse_waiting(refusal); }};
  StdioEraProber prober_;
  ServerEra era_{loop_, server_, prober_, *this};
  CallerGrouping grouping_{server_};
  // Sessions in front of several servers, by core::Scope::bridged_session.
  struct Bridged {
    core::ScopeCallbacks* owner;
    bool is_modern = false;  // its server refused `initialize`
  };
  std::unordered_map<std::string, Bridged> bridged_;
  std::chrono::milliseconds modern_only_until_{0};
  size_t in_flight_ = 0;  // of all groups
  InstanceGroups groups_;
  ProcessQuota room_{loop_, server_, groups_, prober_};
  net::Timer room_timer_{loop_};
  size_t live_calls_ = 0;
  bool was_used_ = false;
  bool era_is_assumed_ = false, era_was_assumed_ = false;
  std::function<void(const EraVerdict&)> era_found_;
  CallLimiter places_{server_};
  net::Deferred pump_later_;
  std::function<void()> lost_;
  std::function<void()> stopped_;
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
