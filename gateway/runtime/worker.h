// A thread with its loop and the objects living on it: its servers, their calls, and the clients that call
// them. They are destroyed in reverse order. The first worker runs on the process's own thread and is the
// only one with `workers: 1`.
//
// Made, used and destroyed on its thread. Other workers reach it only through the WorkerPool.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "operate/admin/sources.h"
#include "proxy/client/endpoint/front.h"
#include "proxy/client/endpoint/http_front.h"
#include "proxy/cluster/server_placement.h"
#include "proxy/exchange/call_log.h"
#include "proxy/exchange/exchange_table.h"
#include "runtime/further_fronts.h"
#include "runtime/log_flusher.h"
#include "runtime/plugin_host.h"
#include "runtime/replication.h"
#include "runtime/upstream_set.h"

namespace lineward::aggregate {
class SharedNames;
}
namespace lineward::config {
struct Changes;
}
namespace lineward::net {
class LoopWatch;
class Mailbox;
}  // namespace lineward::net
namespace lineward::process {
class Spawner;
}

namespace lineward::cluster {
class WorkerPool;
}

namespace lineward::runtime {

class MemoryReturn;

// Called on the worker's own thread.
struct WorkerEvents {
  std::function<void(const std::string& server, const upstream::EraVerdict&)> ready;  // or failed to start
  std::function<void()> left;                       // a leaving server is gone
  std::function<void()> lost;                       // a server's process exited unexpectedly; may be empty
  std::function<void()> spawner_lost;               // no server can be started any more
  std::function<void(mcp::EndReason)> client_left;  // the only client, on stdio
};

class Worker {
 public:
  struct Place {
    size_t index = 0;
    cluster::WorkerPool* pool = nullptr;
    cluster::ServerPlacement placement;
    std::shared_ptr<client::ConnectionCaps> caps;
    std::shared_ptr<exchange::InFlight> in_flight;
    exchange::RequestStates states;  // the same on all workers
    std::shared_ptr<aggregate::SharedNames> names;
    std::shared_ptr<const net::CurrentTls> tls;
    // Called on this worker's thread: for a connection with requests for another worker, and for the outcome
    // of a cancel sent by another one.
    std::function<void(size_t worker, client::MovedConnection)> hand_on;
    // For a connection that this worker has accepted, while another has fewer.
    std::function<void(size_t worker, client::NewConnection)> hand_on_new;
    exchange::CallLog::Reporter cancel_settled;
    FurtherFronts::Place further;  // for the further listeners
  };
  Worker(config::Config config, Place place, int spawner_socket, WorkerEvents events);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // An error is one sentence for operators.
  Status<> prepare();
  // The first worker opens the address; the others accept from the same socket.
  Status<> listen();
  Status<> listen_with(int socket, std::string address, bool loopback);
  // Creates the servers of this worker; warm_up() starts them.
  void serve();

  // Reload: requests that begin afterwards use `next`. `plugins` was made by make_plugins().
  Result<std::shared_ptr<plugin::PluginSet>> make_plugins(const config::Config& next);
  bool wants_plugins(const config::Config& config, const cluster::ServerPlacement& placement) const;
  // Reads the replicas' shared keys again, even if the file's path is unchanged; apply() uses them.
  Status<> prepare_replication(const config::Config& next);
  void apply(const config::Changes& changes, config::Config next, cluster::ServerPlacement placement,
             std::shared_ptr<plugin::PluginSet> plugins);
  // An operator's request to stop a server, start it, or restart it as a new version.
  struct ServerStep {
    bool out = false, in = false;
    std::string why;  // reason given to its clients
  };
  void act(const std::string& server, const ServerStep& step);
  void end_calls_of(const std::string& server, const std::string& why);
  // A client of a shared gateway has ended: its sessions, its parked calls, and the state kept under its name
  // end with it.
  void end_lease(const std::string& token);
  // The clients that have sessions or parked calls, each once.
  std::vector<std::string> leases();
  // The leaving servers of all workers.
  void use_leaving(const std::set<std::string>& leaving);

  // Refuses new connections; `done` when the calls are over or the grace period has passed.
  void drain(std::function<void()> done);
  // Waits again: a call may have arrived while other workers were not done.
  void when_over(std::function<void()> done);
  bool idle() { return exchanges_.live().size() == 0; }
  // For a disconnected client: `done` as soon as its calls have ended.
  void end_calls(std::function<void()> done);
  // Stops the servers; `done` when they have ended and clients have read their answers.
  void stop(std::function<void()> done);
  void stop_loop() { loop_.stop(); }

  const config::Config& config() const { return config_; }
  size_t index() const { return place_.index; }
  bool hosts(const std::string& server) const {
    return cluster::is_on(place_.placement, server, place_.index);
  }
  net::Loop& loop() { return loop_; }
  PluginHost& plugin_host() { return *plugin_host_; }
  UpstreamSet& upstreams() { return *upstreams_; }
  exchange::ExchangeTable& exchanges() { return exchanges_; }
  client::Front& front() { return *front_; }
  client::HttpFront* http() { return http_; }          // the same, or null on stdio
  FurtherFronts* further() { return further_.get(); }  // null on stdio
  admin::WorkerView view();
  // When its loop last turned, in Loop::nanoseconds(); from any thread.
  uint64_t beat_at() const { return beat_at_.load(std::memory_order_relaxed); }

 private:
  struct OwnStats {
    explicit OwnStats(bool own);
    ~OwnStats();
    std::unique_ptr<metrics::GatewayStats> mine;  // null: the process's own
  };
  void make_front();
  void add_server(const config::Server& server);
  void calls_over();
  void beat();
  std::unique_ptr<net::LoopWatch> watch_loop();

  config::Config config_;  // in effect
  Place place_;
  int spawner_socket_;
  WorkerEvents events_;
  OwnStats stats_;
  net::Loop loop_;
  LogFlusher log_lines_{loop_};
  std::shared_ptr<net::Mailbox> mailbox_;
  std::unique_ptr<process::Spawner> spawner_;
  std::unique_ptr<PluginHost> plugin_host_;
  std::unique_ptr<UpstreamSet> upstreams_;
  exchange::ExchangeTable exchanges_;
  std::unique_ptr<client::Front> front_;
  client::HttpFront* http_ = nullptr;
  std::unique_ptr<FurtherFronts> further_;
  Replication replication_;  // until it is used
  std::unique_ptr<net::LoopWatch> loop_watch_;
  std::unique_ptr<MemoryReturn> memory_return_;
  net::Timer grace_;
  net::Timer last_requests_;
  net::Timer last_answers_;
  net::Timer heart_;
  std::array<double, 60> lags_{};  // of the last beats, in seconds
  size_t beats_ = 0;
  std::atomic<uint64_t> beat_at_{0};
  std::chrono::milliseconds drain_until_{0};
  std::function<void()> over_;  // the callback of drain()
};

}  // namespace lineward::runtime
