// The servers of a worker, from start to stop. Each is kept with the configuration it was made from; servers
// replaced or removed by a reload stay until their calls have ended.
//
// Owned by its worker; exchanges that call into it outlive it. The aggregate is on the first worker. There,
// members that live on other workers have proxies; each server here with such a proxy has a RemoteCallServer.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "foundation/net/mailbox.h"
#include "foundation/process/spawner.h"
#include "operate/admin/sources.h"
#include "proxy/client/endpoint/front.h"
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
}

namespace lineward::runtime {

class UpstreamSet final {
 public:
  struct Events {
    std::function<void(const config::Server&, const upstream::EraVerdict&)> ready;  // or failed to start
    std::function<void()> lost;  // a stdio server's process exited unexpectedly; may be empty
    std::function<void()> left;  // a leaving server is gone
  };
  // The worker of this set; `mailbox` is that worker's.
  struct Place {
    bool first = true;
    std::shared_ptr<net::Mailbox> mailbox;
    size_t worker = 0, workers = 1;
  };
  // `config`: the effective configuration, also after a reload.
  UpstreamSet(net::Loop& loop, const config::Config& config, exchange::ExchangeTable& exchanges, Place place,
              Events events);
  ~UpstreamSet();
  UpstreamSet(const UpstreamSet&) = delete;
  UpstreamSet& operator=(const UpstreamSet&) = delete;

  // Before the first add().
  void use(process::Spawner& spawner) { spawner_ = &spawner; }

  // `home`: the worker that probes it at the start. `shared`: what its workers share, if all serve it.
  void add(const config::Server& server, size_t home, std::shared_ptr<upstream::SharedServer> shared);
  // A version of the server takes calls here.
  bool runs(const std::string& name) const { return find_running(name) != nullptr; }
  // Changes limits of a server in place.
  void adjust(const config::Server& server);
  // Calls of the server continue; new calls go to the version added next, or fail. `why`: the reason given to
  // listeners, and to callers at the aggregate's path.
  void retire(const std::string& name, exchange::Retirement how, const std::string& why);
  // Servers not yet shown to the first worker. On the other workers.
  std::vector<RemoteServer> show_new();
  // On the first worker: makes a server of another worker a member of the aggregate.
  void join_remote(RemoteServer shown);
  void refresh_remote(const std::string& name, cluster::RemoteState state) {
    remote_.refresh(name, std::move(state));
  }
  // On the first worker: sorts the aggregate's members as in the configuration.
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
    std::shared_ptr<cluster::RemoteCallServer>
        call_server;  // the same, for the aggregate on the first worker
    bool shown = false;
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
  AggregateParts aggregate_;  // destroyed before its members; only on the first worker
  std::function<void()> stopped_;
  size_t stopping_ = 0;  // servers that stop() waits for
  net::Lifetime lifetime_;
};

}  // namespace lineward::runtime
