#include "runtime/remote_members.h"

#include <algorithm>
#include <utility>

#include "config/aggregate.h"
#include "config/remembers.h"
#include "proxy/cluster/remote_upstream.h"
#include "proxy/upstream/layers/listen_hub.h"
#include "runtime/worker_directory.h"

namespace lineward::runtime {

RemoteMembers::~RemoteMembers() {
  lifetime_.end();
  for (auto& one : leaving_)
    one->served->left = nullptr;
}

RemoteMembers::Member& RemoteMembers::add(RemoteServer shown, std::shared_ptr<net::Mailbox> here) {
  auto made = std::make_unique<Member>();
  Member& one = *made;
  one.server = std::move(shown.server);
  auto remote = std::make_unique<cluster::RemoteUpstream>(
      loop_, std::move(here), one.server.name, std::move(shown.call_server), std::move(shown.state));
  one.remote = remote.get();
  // Many identical listens here share one listen at the other worker. A server that remembers tells each
  // client about its own answers there.
  if (config::remembers(one.server)) {
    one.upstream = std::move(remote);
  } else {
    one.upstream = std::make_unique<upstream::ListenHub>(loop_, std::move(remote), one.server);
  }
  one.guarded = std::make_unique<plugin::GuardedUpstream>(loop_, *one.upstream, one.server, plugins_);
  one.served = std::make_shared<exchange::ServerVersion>(*one.upstream, one.server);
  members_.push_back(std::move(made));
  return one;
}

std::function<std::shared_ptr<void>()> RemoteMembers::leases(const Member& member) {
  return [served = member.served] { return std::make_shared<exchange::ServerRef>(served); };
}

RemoteMembers::Member* RemoteMembers::find(const std::string& name) const {
  for (const auto& one : members_) {
    if (one->server.name == name) return one.get();
  }
  return nullptr;
}

void RemoteMembers::adjust(const config::Server& server) {
  if (Member* one = find(server.name)) one->server = server;
}

void RemoteMembers::retire(const std::string& name) {
  auto found = std::find_if(members_.begin(), members_.end(),
                            [&](const auto& one) { return one->server.name == name; });
  if (found == members_.end()) return;
  Member* one = found->get();
  leaving_.push_back(std::move(*found));
  members_.erase(found);
  one->served->retiring = true;
  one->remote->on_described(nullptr);  // that name means its successor now
  // The last reference may be released from within one of its calls.
  one->served->left = lifetime_.guard([this, one] {
    loop_.defer(lifetime_, [this, one] {
      auto gone =
          std::find_if(leaving_.begin(), leaving_.end(), [&](const auto& each) { return each.get() == one; });
      if (gone == leaving_.end()) return;
      loop_.retire(std::move(*gone));
      leaving_.erase(gone);
    });
  });
  exchange::ServerRef last(one->served);
}

void RemoteMembers::refresh(const std::string& name, cluster::RemoteState state) {
  if (Member* one = find(name)) one->remote->use(std::move(state));
}

// An aggregate without requests needs no members, and keeps none.
void join_remote_members(WorkerDirectory& workers, const config::Config& config) {
  const size_t joining = !config::is_aggregated(config)                              ? 0
                         : cluster::is_aggregate_on_all(workers.placement(), config) ? workers.workers()
                                                                                     : 1;
  std::vector<std::vector<RemoteServer>> shown(workers.workers());
  // Each worker is asked once: one that is stuck is waited for.
  for (size_t from = 0; joining > 0 && from < workers.workers(); ++from) {
    workers.run(from, [&] {
      for (size_t to = 0; to < joining; ++to) {
        if (to == from) continue;
        for (RemoteServer& one : workers.worker(from).upstreams().show_new(to))
          shown[to].push_back(std::move(one));
      }
    });
  }
  for (size_t to = 0; to < workers.workers(); ++to) {
    if (workers.run(to, [&] { workers.worker(to).upstreams().settle_remote(std::move(shown[to])); }))
      continue;
    for (size_t from = 0; from < workers.workers() && !shown[to].empty(); ++from) {
      if (from == to) continue;
      workers.run(from, [&] {
        for (const RemoteServer& one : shown[to]) {
          if (workers.worker(from).hosts(one.server.name))
            workers.worker(from).upstreams().not_taken(to, one.server.name);
        }
      });
    }
  }
}

void refresh_remote_members(WorkerDirectory& workers) {
  for (const auto& [name, place] : workers.placement()) {
    if (place.home == 0 || place.shared) continue;
    const core::Upstream* server = workers.worker(place.home).upstreams().find(name);
    if (server != nullptr) workers.worker(0).upstreams().refresh_remote(name, cluster::state_of(*server));
  }
}

}  // namespace lineward::runtime
