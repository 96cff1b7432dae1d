// A stdio server as an upstream: its era, its groups of callers, the processes of each, and the queues before them.
//
// Groups follow BEHAVIOUR 5 (isolation): a legacy session has a process of its own, initialised with that client's own
// parameters; modern clients share one on a modern server; `principal` and `call` cut finer.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/upstream.h"
#include "upstream/era_probe.h"
#include "upstream/legacy_listens.h"
#include "upstream/stdio_instance.h"

namespace lineward::upstream {

class StdioUpstream final : public core::Upstream, public InstanceOwner {
 public:
  StdioUpstream(net::Loop& loop, net::Spawner& spawner, const config::Server& server);
  ~StdioUpstream() override;

  // Asks for the era now rather than at the first call; `ready` (may be empty) hears the verdict once.
  void warm_up(std::function<void(const Verdict&)> ready);
  // Called when an instance is gone that was not told to go.
  void on_lost(std::function<void()> lost) { lost_ = std::move(lost); }

  const std::string& name() const override { return server_.name; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest request, core::CallOwner& owner) override;
  void open_scope(const core::Scope& scope, core::ScopeOwner& owner) override;
  void close_scope(const core::Scope& scope) override;
  void forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) override;
  std::optional<std::vector<std::string>> versions() const override;
  void stop(std::function<void()> done) override;

  // For StdioCall: takes an unwritten call out of its queue.
  void withdraw(StdioCall& call);

 private:
  struct Group {
    std::string key;
    mcp::Era era = mcp::Era::modern;
    bool own_handshake = false;         // Lineward initialises it, with initialize_params
    bool per_call = false;              // ends with its one call
    std::string initialize_params;      // raw JSON
    std::string initialize_result;      // raw JSON, once known
    bool initialized_sent = false;
    std::string level_params;           // the last logging/setLevel that was accepted
    std::unordered_map<std::string, std::string> subscriptions;  // uri → params of resources/subscribe
    core::ScopeOwner* scope = nullptr;  // of a legacy session
    std::unique_ptr<StdioInstance> instance;
    LegacyListens listens;              // of modern clients on a legacy server
    std::deque<StdioCall*> queue;
    uint32_t failures = 0;              // starts in a row that came to nothing
    std::chrono::milliseconds not_before{0};
    net::Timer timer;                   // backoff
    explicit Group(net::Loop& loop) : timer(loop) {}
  };

  void on_instance_ready(StdioInstance& instance) override;
  void on_instance_free(StdioInstance& instance) override;
  void on_instance_message(StdioInstance& instance, mcp::Message message, StdioCall* only) override;
  void on_instance_initialized(StdioInstance& instance, const mcp::Message& answer) override;
  void on_instance_down(StdioInstance& instance, const ProcessEnd& end, std::vector<StdioCall*> listens) override;
  void on_instance_gone(StdioInstance& instance) override;

  void on_verdict(const Verdict& verdict);
  void probe();
  std::string group_key(const core::Scope& scope, mcp::Era client_era);
  Group& group_for(const core::Scope& scope, mcp::Era client_era);
  void enqueue(StdioCall& call);
  void schedule_pump();
  void pump();
  void pump(Group& group);
  bool start_instance(Group& group);
  bool make_room();
  void restore(Group& group);
  bool handled_here(Group& group, StdioCall& call);
  void retire(std::unique_ptr<StdioInstance> instance);
  void close_group(Group& group, std::string_view why);
  void reap();
  void fail_queue(Group& group, const core::Failure& failure);
  size_t total_in_flight() const;
  size_t total_queued() const;
  size_t instances() const;
  void check_stopped();

  net::Loop& loop_;
  net::Spawner& spawner_;
  const config::Server& server_;
  Verdict verdict_;
  std::chrono::milliseconds verdict_until_{0};
  std::unique_ptr<EraProbe> probe_;
  std::function<void(const Verdict&)> on_ready_;
  std::function<void()> lost_;
  std::function<void()> stopped_;
  std::unordered_map<std::string, std::unique_ptr<Group>> groups_;
  std::deque<StdioCall*> undecided_;  // modern calls that wait for the verdict
  std::vector<std::unique_ptr<StdioInstance>> leaving_;
  net::Timer reaper_;
  uint64_t next_group_ = 1;
  bool pump_scheduled_ = false;
  bool stopping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lineward::upstream
