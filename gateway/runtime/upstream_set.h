// The servers of a running gateway: each with the configuration it was made from, those that a reload
// replaced or removed until their calls have ended, and their life from start to stop.
//
// Owned by its worker; outlived by the exchanges that call into it. All servers as one are on the first
// worker: there the members that live on other workers have proxies, and each server here that has one
// there has a RemoteCallServer.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "admin/sources.h"
#include "client/endpoint/front.h"
#include "config/config.h"
#include "exchange/exchange_table.h"
#include "layers/guarded_upstream.h"
#include "net/loop.h"
#include "net/mailbox.h"
#include "process/spawner.h"
#include "runtime/remote_members.h"
#include "upstream/stdio/era_probe.h"

namespace lineward::upstream {
class HttpUpstream;
}
namespace lineward::aggregate {
class AggregateUpstream;
}

namespace lineward {

class UpstreamSet final : public admin::UpstreamFinder {
 public:
  struct Events {
    std::function<void(const config::Server&, const upstream::EraVerdict&)> ready;  // or not
    std::function<void()> lost;  // a stdio server's process ended that was not told to; may be empty
    std::function<void()> left;  // one that was on its way out is gone
  };
  // Which worker's they are; `mailbox` is that worker's.
  struct Place {
    bool first = true;
    std::shared_ptr<net::Mailbox> mailbox;
  };
  // `config`: what is in effect, also after a reload.
  UpstreamSet(net::Loop& loop, const config::Config& config, exchange::ExchangeTable& exchanges, Place place,
              Events events);
  ~UpstreamSet();
  UpstreamSet(const UpstreamSet&) = delete;
  UpstreamSet& operator=(const UpstreamSet&) = delete;

  // Before the first add().
  void use(net::Spawner& spawner) { spawner_ = &spawner; }

  void add(const config::Server& server);
  // The same server with other limits, in place.
  void adjust(const config::Server& server);
  // Its calls go on, new ones go to the form that is added next, or nowhere. `why`: what its listeners are
  // told, and those who ask for it at the path of all.
  void retire(const std::string& name, exchange::Retirement how, const std::string& why);
  // Those that the first worker was not shown yet. On the others.
  std::vector<RemoteServer> show_new();
  // On the first worker: one that lives on another becomes a member of the aggregate.
  void join_remote(RemoteServer shown);
  void refresh_remote(const std::string& name, upstream::RemoteState state) {
    remote_.refresh(name, std::move(state));
  }
  // On the first worker: members of the aggregate stand as their servers do in the configuration.
  void sort_members();
  // Starts what was added and did not start yet.
  void warm_up();
  // Which of them is the plain sidecar's (config::plain_sidecar), or empty.
  void set_sidecar(client::Front& front, const std::string& name);
  // Ends all; `done` is called once, when no process is left.
  void stop(std::function<void()> done);

  size_t size() const { return running_.size(); }
  core::Upstream* find(const std::string& name) const override;
  std::vector<const config::Server*> leaving() const override;
  const config::Server* together() const override;
  // Of a server that is served: what a reload would have to wait for.
  // Here: by the server's own path where it lives, by the aggregate where that does.
  exchange::ExchangeTable::Work work_of(const std::string& name) const;

 private:
  struct Running {
    config::Server server;
    upstream::HttpUpstream* http = nullptr;
    std::unique_ptr<core::Upstream> upstream;          // dies before `server`
    std::unique_ptr<plugin::GuardedUpstream> guarded;  // the same, as the aggregate here sees it
    std::shared_ptr<upstream::RemoteCallServer>
        call_server;  // the same, for the aggregate on the first worker
    bool shown = false;
    std::function<void()> warm_up;
    bool stopping = false;
  };
  // All of them as one upstream.
  struct Together {
    std::unique_ptr<core::Upstream> upstream;
    aggregate::AggregateUpstream* members = nullptr;  // within it
  };
  void join(const config::Server& server, plugin::GuardedUpstream& guarded,
            std::function<std::shared_ptr<void>()> lease);
  Running* find_running(const std::string& name) const;
  void stop_one(Running& one);
  void left(Running& one);

  net::Loop& loop_;
  const config::Config& config_;
  exchange::ExchangeTable& exchanges_;
  const Place place_;
  Events events_;
  net::Spawner* spawner_ = nullptr;
  std::vector<std::unique_ptr<Running>> running_;
  std::vector<std::unique_ptr<Running>> leaving_;
  RemoteMembers remote_;
  Together together_;  // dies before its members; empty but on the first worker
  std::function<void()> stopped_;
  size_t stopping_ = 0;  // those that stop() waits for
  net::Lifetime lifetime_;
};

}  // namespace lineward
