// The objects that this module's servers read. All of them outlive the servers.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/certificate.h"
#include "foundation/net/loop.h"
#include "foundation/net/loop_watch.h"
#include "foundation/net/tls_listener.h"
#include "operate/admin/reload_api.h"
#include "proxy/client/endpoint/front.h"
#include "proxy/core/upstream.h"
#include "proxy/exchange/exchange_table.h"
#include "proxy/metrics/stats.h"

namespace lineward::admin {

// A worker's front of a further listener.
struct ListenerView {
  std::string name;
  const client::Front* front;
};

// The data of a worker. Its own thread changes it: other threads read it within WorkerDirectory::paused() or
// run().
struct WorkerView {
  net::Loop& loop;
  // Null if it is disabled or gone.
  std::function<core::Upstream*(const std::string& name)> find_upstream;
  // Servers replaced or removed by a reload that still have calls.
  std::function<std::vector<const config::Server*>()> leaving;
  // The aggregate, if it is served; else null.
  std::function<const config::Server*()> aggregate;
  exchange::ExchangeTable& exchanges;
  client::Front& front;
  metrics::GatewayStats& stats;
  const net::LoopWatch& loop_watch;
  std::function<std::vector<ListenerView>()> further = {};  // empty: there are none
};

// The workers; this module runs on the first one's thread.
class WorkerDirectory {
 public:
  virtual size_t workers() const = 0;
  virtual const WorkerView& view(size_t worker) const = 0;
  // The worker on which a server lives.
  virtual size_t host(const std::string& server) const = 0;
  // All workers serve it, with connections of their own; its host probes it.
  virtual bool is_on_all(const std::string& server) const = 0;
  // Runs `work` on that worker's thread and waits; false if that worker is stuck.
  virtual bool run(size_t worker, const std::function<void()>& work) = 0;
  // Runs `work` here while all other workers are paused; false if one of them is stuck.
  virtual bool paused(const std::function<void()>& work) = 0;
  // From any worker's thread: runs `work` on the first one's.
  virtual void tell_first(std::function<void()> work) = 0;
  // The oldest last turn of all loops, in Loop::nanoseconds().
  virtual uint64_t slowest_beat() const = 0;

 protected:
  ~WorkerDirectory() = default;
};

struct Sources {
  net::Loop& loop;
  const config::Config& config;
  WorkerDirectory& workers;
  std::string version, revision;
  std::string config_source;
  const bool& draining;
  ReloadControls reload;
  std::chrono::milliseconds started;  // Loop::now() at the start
  // The TLS of a further listener, or of `listen` (empty).
  std::function<std::shared_ptr<const net::CurrentTls>(const std::string& listener)> tls_of = {};
  // The processes of a shared gateway's clients (`lineward stdio --share`). Empty for any other gateway.
  std::function<std::vector<int64_t>()> shared_by = {};

  const WorkerView& host(const std::string& server) const { return workers.view(workers.host(server)); }
  template <class F>
  void each(F&& look) const {
    for (size_t worker = 0; worker < workers.workers(); ++worker)
      look(workers.view(worker));
  }
  // The workers that serve it.
  template <class F>
  void each_of(const std::string& server, F&& look) const {
    if (workers.is_on_all(server)) return each(look);
    look(host(server));
  }
  const client::Front& front() const { return workers.view(0).front; }
  // Only within paused(): calls that clients sent to the server's own path.
  exchange::ExchangeTable::Load load(const std::string& server) const {
    exchange::ExchangeTable::Load sum;
    each_of(server, [&](const WorkerView& worker) {
      sum.add(worker.exchanges.load(server, exchange::ExchangeTable::CameTo::itself));
    });
    return sum;
  }
  // Only within paused(): calls that clients sent to the aggregate, and that it routed to the server.
  exchange::ExchangeTable::Load routed(const std::string& server) const {
    exchange::ExchangeTable::Load sum;
    each([&](const WorkerView& worker) {
      sum.add(worker.exchanges.load(server, exchange::ExchangeTable::CameTo::aggregate));
    });
    return sum;
  }
  // Only within paused(): what the aggregates of all workers have counted of the server.
  std::shared_ptr<const metrics::UpstreamStats> at_aggregate(const std::string& server) const {
    if (workers.workers() == 1)
      return {std::shared_ptr<void>(), &metrics::upstream_stats(workers.view(0).stats, server)};
    auto sum = std::make_shared<metrics::UpstreamStats>(server);
    each([&](const WorkerView& worker) { sum->add(metrics::upstream_stats(worker.stats, server)); });
    return sum;
  }
  // Only within paused(): the server's counters on the workers that serve it.
  std::shared_ptr<const metrics::UpstreamStats> stats(const std::string& server) const {
    if (!workers.is_on_all(server))
      return {std::shared_ptr<void>(), &metrics::upstream_stats(host(server).stats, server)};
    auto sum = std::make_shared<metrics::UpstreamStats>(server);
    each_of(server,
            [&](const WorkerView& worker) { sum->add(metrics::upstream_stats(worker.stats, server)); });
    return sum;
  }

  // Only within paused().
  core::Upstream* upstream(const std::string& name) const { return host(name).find_upstream(name); }
  // The configured servers, the aggregate, then removed servers that still have calls.
  std::vector<const config::Server*> servers() const {
    std::vector<const config::Server*> out;
    for (const auto& server : config.servers)
      out.push_back(&server);
    if (const config::Server* all = aggregate()) out.push_back(all);
    each([&](const WorkerView& worker) {
      for (const config::Server* old : worker.leaving()) {
        bool shown = std::any_of(out.begin(), out.end(), [&](auto* one) { return one->name == old->name; });
        if (!shown) out.push_back(old);
      }
    });
    return out;
  }
  const config::Server* aggregate() const { return workers.view(0).aggregate(); }
  bool is_leaving(const std::string& name) const {
    bool found = false;
    each([&](const WorkerView& worker) {
      for (const config::Server* one : worker.leaving())
        found = found || one->name == name;
    });
    return found;
  }
  core::UpstreamStatus status(const config::Server& server) const {
    core::UpstreamStatus status;
    const bool held = reload.is_held(server.name);
    const bool leaves = is_leaving(server.name);
    status.state = server.disabled || (held && !leaves) ? core::UpstreamStatus::State::disabled
                                                        : core::UpstreamStatus::State::draining;
    if (held) status.why = leaves ? "it is being stopped by an operator" : "it was stopped by an operator";
    if (const core::Upstream* running = upstream(server.name)) status = running->status();
    return status;
  }
  // That of `listen`; null: it has none.
  net::TlsListenerPtr tls() const {
    const auto current = tls_of ? tls_of({}) : nullptr;
    return current ? current->get() : nullptr;
  }
  // The certificates of all listeners; the first 1000 to expire.
  struct Shown {
    std::string listener;
    net::CertificatePtr certificate;
  };
  std::vector<Shown> certificates() const;
  size_t connections() const {
    size_t sum = 0;
    each([&](const WorkerView& worker) { sum += worker.front.connections(); });
    for (const auto& [listener, count] : listeners())
      sum += count;
    return sum;
  }
  // Only within paused(): connections of further listeners by name.
  std::map<std::string, size_t> listeners() const {
    std::map<std::string, size_t> sum;
    each([&](const WorkerView& worker) {
      if (!worker.further) return;
      for (const ListenerView& one : worker.further())
        sum[one.name] += one.front->connections();
    });
    return sum;
  }
  std::map<std::string, size_t> sessions() const {
    std::map<std::string, size_t> sum;
    each([&](const WorkerView& worker) {
      for (const auto& [server, count] : worker.front.sessions().by_upstream())
        sum[server] += count;
    });
    return sum;
  }
};

}  // namespace lineward::admin
