// The running gateway: one thread, one loop, and everything that lives on it, in the order in which it must
// die.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/operations.h"
#include "client/front.h"
#include "config/config.h"
#include "exchange/exchange_table.h"
#include "log_flusher.h"
#include "memory_return.h"
#include "net/child_process.h"
#include "net/loop.h"
#include "net/loop_watch.h"
#include "net/signals.h"
#include "plugin_host.h"
#include "reloader.h"
#include "upstream_set.h"

namespace lineward {

struct RunOptions {
  std::string version;
  std::string revision;                      // of the source
  std::string source;                        // where the configuration came from, for the first line
  std::function<config::LoadResult()> load;  // reads it again; empty where there is no file
  bool exit_with_upstream = false;
  bool exit_with_parent = false;
  bool quiet = false;
};

class Gateway {
 public:
  // `spawner_socket` is the descriptor of net::fork_spawner().
  Gateway(config::Config config, RunOptions options, int spawner_socket);
  ~Gateway();

  // Serves until it is told to stop; the process's exit code (cli/exit_codes.h).
  int run();

 private:
  int start();
  std::unique_ptr<client::Front> make_front();
  // False: a plugin cannot be made; it was said why.
  bool make_plugins();
  void make_reloader();
  void hung_up();
  void calls_over();
  void client_left(mcp::EndReason why);
  int cannot_listen(const net::ListenFailure& failure, const char* option);
  void greet();
  void warm_up();
  void upstream_ready(const config::Server& server, const upstream::Verdict& verdict);
  void on_signal(int signal);
  void drain();
  void stop_upstreams();
  void finish(int exit);
  void watch_parent();
  std::unique_ptr<net::LoopWatch> watch_loop();

  config::Config config_;  // what is in effect; the reloader changes it
  RunOptions options_;
  int exit_code_ = 0;
  bool draining_ = false;
  bool signalled_ = false;
  bool had_terminal_ = false;
  size_t stopping_ = 0;
  int spawner_socket_;
  net::Loop loop_;
  LogFlusher log_lines_{loop_};
  std::unique_ptr<net::Spawner> spawner_;
  std::unique_ptr<PluginHost> plugin_host_;
  std::unique_ptr<UpstreamSet> upstreams_;
  exchange::ExchangeTable exchanges_;
  std::unique_ptr<client::Front> front_;
  std::unique_ptr<net::LoopWatch> loop_watch_;
  std::unique_ptr<MemoryReturn> memory_return_;
  std::unique_ptr<Reloader> reloader_;
  std::unique_ptr<admin::Operations> operations_;
  std::vector<std::unique_ptr<net::SignalWatch>> signals_;
  net::Timer timer_;
  net::Timer parent_timer_;
  net::Timer stop_limit_;
  net::Timer last_requests_;
  std::chrono::milliseconds drain_until_{0};
};

}  // namespace lineward
