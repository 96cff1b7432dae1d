// Members of the aggregate that live on other workers, as seen by one worker and its aggregate. Each has a
// proxy that calls by messages (proxy/cluster/remote_upstream.h), a ListenHub, and the plugins that judge it
// here.
//
// Owned by the worker's UpstreamSet; outlives the aggregate. A member replaced or removed by a reload
// stays until its last call here is over. Then its worker may free it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "foundation/net/mailbox.h"
#include "proxy/cluster/remote_call_server.h"
#include "proxy/cluster/remote_handle.h"
#include "proxy/exchange/server_directory.h"
#include "proxy/upstream/layers/guarded_upstream.h"

namespace lineward::cluster {
class RemoteUpstream;
}

namespace lineward::runtime {

// A server that lives on another worker, as that worker shows it.
struct RemoteServer {
  config::Server server;
  cluster::RemoteHandle<cluster::RemoteCallServer> call_server;
  cluster::RemoteState state;
};

class RemoteMembers {
 public:
  struct Member {
    config::Server server;
    std::unique_ptr<core::Upstream> upstream;  // destroyed before `server`
    std::unique_ptr<plugin::GuardedUpstream> guarded;
    std::shared_ptr<exchange::ServerVersion> served;
    cluster::RemoteUpstream* remote = nullptr;  // within `upstream`
  };

  RemoteMembers(net::Loop& loop, plugin::GuardedUpstream::Plugins plugins)
      : loop_(loop), plugins_(std::move(plugins)) {}
  ~RemoteMembers();

  Member& add(RemoteServer shown, std::shared_ptr<net::Mailbox> here);
  // The returned function makes references that keep the member alive.
  static std::function<std::shared_ptr<void>()> leases(const Member& member);
  void adjust(const config::Server& server);
  void retire(const std::string& name);
  // Updates a server's state, as read on its own worker.
  void refresh(const std::string& name, cluster::RemoteState state);

 private:
  Member* find(const std::string& name) const;

  net::Loop& loop_;
  const plugin::GuardedUpstream::Plugins plugins_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<Member>> leaving_;
  net::Lifetime lifetime_;
};

class WorkerDirectory;

// After all workers created or retired their servers, at the start and in a reload: the aggregates of the
// others follow. Called on the first worker.
void join_remote_members(WorkerDirectory& workers, const config::Config& config);
// Updates the states of remote members on the first worker, while the others are paused.
void refresh_remote_members(WorkerDirectory& workers);

}  // namespace lineward::runtime
