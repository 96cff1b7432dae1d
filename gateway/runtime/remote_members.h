// The members of the aggregate that live on other workers, as the first worker, where the aggregate is, has
// them: for each a proxy whose calls go by messages (cluster/remote_upstream.h), what shares its listens
// here, and the plugins that judge it here.
//
// Owned by the first worker's UpstreamSet; outlives the aggregate. A member that a reload replaced or removed
// stays until its last call here is over; then its worker is told that it may go.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/remote_call_server.h"
#include "cluster/remote_handle.h"
#include "config/config.h"
#include "exchange/served.h"
#include "layers/guarded_upstream.h"
#include "net/loop.h"
#include "net/mailbox.h"

namespace lineward::upstream {
class RemoteUpstream;
}

namespace lineward {

// What another worker shows of a server that lives there.
struct RemoteServer {
  config::Server server;
  upstream::RemoteHandle<upstream::RemoteCallServer> call_server;
  upstream::RemoteState state;
};

class RemoteMembers {
 public:
  struct Member {
    config::Server server;
    std::unique_ptr<core::Upstream> upstream;  // dies before `server`
    std::unique_ptr<plugin::GuardedUpstream> guarded;
    std::shared_ptr<exchange::Served> served;
    upstream::RemoteUpstream* remote = nullptr;  // within `upstream`
  };

  RemoteMembers(net::Loop& loop, plugin::GuardedUpstream::Plugins plugins)
      : loop_(loop), plugins_(std::move(plugins)) {}
  ~RemoteMembers();

  Member& add(RemoteServer shown, std::shared_ptr<net::Mailbox> here);
  // Keeps the member while it is held.
  static std::function<std::shared_ptr<void>()> leases(const Member& member);
  void adjust(const config::Server& server);
  void retire(const std::string& name);
  // How a server is, from who may look at it where it lives.
  void refresh(const std::string& name, upstream::RemoteState state);

 private:
  Member* find(const std::string& name) const;

  net::Loop& loop_;
  const plugin::GuardedUpstream::Plugins plugins_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<Member>> leaving_;
  net::Lifetime lifetime_;
};

class WorkerDirectory;

// On the first worker, when the others have made their servers, at the start and in a reload: they become
// members of the aggregate.
void join_remote_members(WorkerDirectory& workers);
// While the others stand still: what is known of these members here is what they are.
void refresh_remote_members(WorkerDirectory& workers);

}  // namespace lineward
