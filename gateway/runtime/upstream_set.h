// The servers of a worker, from start to stop. Each is kept with the configuration it was made from; servers
// replaced or removed by a reload stay until their calls have ended.
//
// Owned by its worker; exchanges that call into it outlive it. Each worker has an aggregate. Its members that
// live on other workers have proxies; each server here has a RemoteCallServer for each such proxy.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "foundation/net/mailbox.h"
#include "foundation/process/spawner.h"
#include "operate/admin/sources.h"
#include "proxy/client/endpoint/front.h"
#include "proxy/cluster/server_placement.h"
#include "proxy/exchange/exchange_table.h"
#include "proxy/upstream/layers/guarded_upstream.h"
#include "proxy/upstream/shared/era_verdict.h"
#include "proxy/upstream/shared/shared_server.h"
#include "runtime/remote_members.h"

namespace lineward::upstream {
class HttpUpstream;
class RememberingUpstream;
class StdioUpstream;
}  // namespace lineward::upstream
namespace lineward::aggregate {
class AggregateUpstream;
class SharedNames;
}  // namespace lineward::aggregate

namespace lineward::runtime {

class UpstreamSet final {
 public:
  struct Events {
    std::function<void(const config::Server&, const upstream::EraVerdict&)> ready;  // or failed to start
    std::function<void()> lost;  // a stdio server's process exited unexpectedly; may be empty
    std::function<void()> left;  // a leaving server is gone
  };
  // The worker of this set; `mailbox` is that worker's. `names`: those of the aggregate, if there are several
  // workers.
  struct Place {
    std::shared_ptr<net::Mailbox> mailbox;
    size_t worker = 0, workers = 1;
    std::shared_ptr<aggregate::SharedNames> names = {};
  };
  // `config`: the effective configuration, also after a reload.
  UpstreamSet(net::Loop& loop, const config::Config& config, exchange::ExchangeTable& exchanges, Place place,
              Events events);
  ~UpstreamSet();
  UpstreamSet(const UpstreamSet&) = delete;
  UpstreamSet& operator=(const UpstreamSet&) = delete;

  // Before the first add().
  void use(process::Spawner& spawner) { spawner_ = &spawner; }

  void add(const config::Server& server, const cluster::ServerPlace& at);
  // A version of the server takes calls here.
  bool runs(const std::string& name) const { return find_running(name) != nullptr; }
  // Changes limits of a server in place.
  void adjust(const config::Server& server);
  // Calls of the server continue; new calls go to the version added next, or fail. `why`: the reason given to
  // listeners, and to callers at the aggregate's path. `goes_elsewhere`: the next version is on other
  // workers.
  void retire(const std::string& name, exchange::Retirement how, const std::string& why,
              bool goes_elsewhere = false);
  // Servers that live here alone, and are not yet shown to that other worker.
  std::vector<RemoteServer> show_new(size_t worker);
  // That worker is stuck, and did not take it: it is shown again the next time.
  void not_taken(size_t worker, const std::string& name);
  // Takes the members of other workers that were retired out of the aggregate, and these into it, in one
  // step: no call meets neither. Until then calls go to the retired ones.
  void settle_remote(std::vector<RemoteServer> shown);
  void refresh_remote(const std::string& name, cluster::RemoteState state) {
    remote_.refresh(name, std::move(state));
  }
  // Sorts the aggregate's members as in the configuration.
  void sort_members();
  // Its servers over HTTP are Linewards, and need no probe (`lineward stdio --share`).
  void assume_both_eras();
  // Starts servers that were added and not started yet.
  void warm_up();
  // Sets which server is the plain sidecar (config::plain_sidecar); empty: none.
  void set_sidecar(client::Front& front, const std::string& name);
  // Stops all servers; `done` is called once, when no process is left.
  void stop(std::function<void()> done);

  size_t size() const { return running_.size(); }
  core::Upstream* find(const std::string& name) const;
  std::vector<const config::Server*> leaving() const;
  const config::Server* aggregate() const;
  // Outstanding work of a server that a reload would wait for. Counts calls here: at the server's own path if
  // it lives here, and at the aggregate if that lives here.
  exchange::ExchangeTable::Work work_of(const std::string& name) const;

 private:
  struct Running {
    config::Server server;
    upstream::SharedPart shared;
    upstream::HttpUpstream* http = nullptr;
    std::unique_ptr<core::Upstream> upstream;          // destroyed before `server`
    std::unique_ptr<plugin::GuardedUpstream> guarded;  // the same, as the aggregate here uses it
    // The same, for the aggregates on other workers, by worker; null until it is shown there.
    std::vector<std::shared_ptr<cluster::RemoteCallServer>> call_servers;
    std::function<void()> warm_up;
    bool stopping = false;
  };
  // The aggregate.
  struct AggregateParts {
    std::unique_ptr<core::Upstream> upstream;
    aggregate::AggregateUpstream* members = nullptr;  // within `upstream`
  };
  // The transport within the layer that remembers its answers.
  std::unique_ptr<core::Upstream> remembering(const config::Server& server,
                                              std::unique_ptr<upstream::StdioUpstream> stdio,
                                              upstream::RememberingUpstream*& memory);
  void join(const config::Server& server, plugin::GuardedUpstream& guarded,
            std::function<std::shared_ptr<void>()> lease);
  void join_remote(RemoteServer shown);
  // Empty: all that were retired.
  void leave_remote(const std::string& name = {});
  // Its own answer to discover is another one than was given from memory.
  void described(const Running& one);
  Running* find_running(const std::string& name) const;
  void stop_one(Running& one);
  void left(Running& one);

  net::Loop& loop_;
  const config::Config& config_;
  exchange::ExchangeTable& exchanges_;
  const Place place_;
  Events events_;
  process::Spawner* spawner_ = nullptr;
  std::vector<std::unique_ptr<Running>> running_;
  std::vector<std::unique_ptr<Running>> leaving_;
  RemoteMembers remote_;
  struct Left {
    std::string name, why;        // as AggregateUpstream::leave() takes them
    std::shared_ptr<void> lease;  // of a version that lived here
  };
  std::vector<Left> left_remote_;  // retired, and not taken out of the aggregate yet
  AggregateParts aggregate_;       // destroyed before its members
  std::function<void()> stopped_;
  size_t stopping_ = 0;  // servers that stop() waits for
  net::Lifetime lifetime_;
};

}  // namespace lineward::runtime
