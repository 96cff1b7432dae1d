// The running gateway: its workers from start to stop, and the parts shared by all workers: signals, reload,
// the admin API and monitoring.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/service_variables.h"
#include "foundation/net/signals.h"
#include "foundation/process/child_process.h"
#include "operate/admin/operations.h"
#include "operate/share/lease_host.h"
#include "operate/share/log_limit.h"
#include "proxy/cluster/server_placement.h"
#include "proxy/cluster/worker_pool.h"
#include "runtime/listener_tls.h"
#include "runtime/reloader.h"
#include "runtime/service_report.h"
#include "runtime/worker.h"
#include "runtime/worker_directory.h"
#include "runtime/worker_threads.h"

namespace lineward::audit {
class AuditLog;
}

namespace lineward::runtime {

struct RunOptions {
  std::string version;
  std::string revision;    // of the source
  std::string source;      // where the configuration came from, for the first line
  config::ReadAgain load;  // reads it again; empty where there is no file
  bool exit_with_upstream = false;
  bool exit_with_parent = false;
  bool quiet = false;
  net::ServiceVariables service;  // of the service manager; empty if none started the process
  // This is a shared gateway: its socket for leases, and what is called once clients can reach it.
  std::string lease_path = {};
  std::function<void()> ready = {};
  int keeper = -1;  // of a client of a shared gateway: the socket of the process that keeps its lease
};

class Gateway final : public WorkerDirectory, private net::StreamCallbacks {
 public:
  // `spawner_sockets`: a descriptor of process::fork_spawner() for each worker.
  Gateway(config::Config config, RunOptions options, std::vector<int> spawner_sockets);
  ~Gateway();
  // The number of workers that this configuration means.
  static size_t workers_of(const config::Config& config);

  // Serves until it is stopped; returns the process's exit code (operate/cli/exit_codes.h).
  int run();

 private:
  // WorkerDirectory
  size_t workers() const override { return pool_.size(); }
  Worker& worker(size_t index) override { return index == 0 ? *first_ : threads_.worker(index); }
  const admin::WorkerView& view(size_t index) const override {
    return index == 0 ? *first_view_ : threads_.view(index);
  }
  size_t host(const std::string& server) const override { return cluster::worker_of(placement_, server); }
  bool is_on_all(const std::string& server) const override {
    if (config::is_aggregate(server)) return cluster::is_aggregate_on_all(placement_, first_->config());
    return cluster::shared_server(placement_, server) != nullptr;
  }
  bool run(size_t index, const std::function<void()>& work) override { return pool_.run(index, work); }
  bool paused(const std::function<void()>& work) override;
  void tell_first(std::function<void()> work) override { pool_.post(0, std::move(work)); }
  uint64_t slowest_beat() const override { return threads_.slowest_beat(first_->beat_at()); }
  const cluster::ServerPlacement& placement() const override { return placement_; }
  void use_placement(cluster::ServerPlacement placement) override { placement_ = std::move(placement); }

  // net::StreamCallbacks: the keeper of a client's lease
  void on_data(std::string_view) override {}
  void on_end(int error) override;

  int start();
  int start_audit();
  int start_sharing();
  void watch_signals();
  Worker::Place place(size_t index);
  FurtherFronts::Place further_place(size_t index);
  ListenerParts parts_of(const std::string& listener);
  int open_listeners();
  WorkerEvents events(size_t index);
  template <class F>
  void on_each(F&& work);
  // Runs an event of worker `index`, raised on its thread, on the first worker: directly, or by a message.
  void on_first(size_t index, std::function<void()> work);
  void hung_up();
  void client_left(mcp::EndReason why);
  void one_over();
  void one_stopped();
  int all_sockets_taken() const;
  size_t calls_in_flight();
  int cannot_listen(const Error& failure, const char* option);
  void print_banner();
  void warm_up();
  void upstream_ready(const std::string& server, const upstream::EraVerdict& verdict);
  void on_signal(int signal);
  void drain();
  void begin_drain();
  std::chrono::milliseconds stop_time() const;
  void stop_upstreams();
  void finish(int exit);
  void watch_parent();

  RunOptions options_;
  std::shared_ptr<audit::AuditLog> audit_;  // outlives every worker
  int exit_code_ = 0;
  bool draining_ = false;
  bool signalled_ = false;
  bool had_terminal_ = false;
  size_t not_over_ = 0;  // workers that still have calls
  bool stopping_ = false;
  size_t not_stopped_ = 0;
  std::vector<int> spawner_sockets_;
  cluster::WorkerPool pool_;
  cluster::ServerPlacement placement_;
  std::shared_ptr<client::ConnectionCaps> caps_ = std::make_shared<client::ConnectionCaps>();
  std::shared_ptr<aggregate::SharedNames> names_;  // null: there is one worker
  std::shared_ptr<exchange::InFlight> in_flight_ = std::make_shared<exchange::InFlight>();
  const exchange::RequestStates states_;
  ListenersTls tls_;
  std::mutex caps_mutex_;
  std::map<std::string, std::shared_ptr<client::ConnectionCaps>> further_caps_;  // by listener
  std::unique_ptr<Worker> first_;  // on this thread; members below use its loop
  std::optional<admin::WorkerView> first_view_;
  WorkerThreads threads_;
  std::unique_ptr<Reloader> reloader_;
  std::unique_ptr<ServiceReport> service_;
  std::unique_ptr<share::LeaseHost> leases_;
  std::unique_ptr<share::LogLimit> log_limit_;
  std::unique_ptr<net::ByteStream> keeper_;
  std::unique_ptr<admin::Operations> operations_;
  std::vector<std::unique_ptr<net::SignalWatch>> signals_;
  std::unique_ptr<net::Timer> delay_;
  std::unique_ptr<net::Timer> parent_timer_;
  std::unique_ptr<net::Timer> stop_limit_;
  std::chrono::milliseconds drain_until_{0};
};

}  // namespace lineward::runtime
