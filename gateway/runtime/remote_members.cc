#include "runtime/remote_members.h"

#include <algorithm>
#include <utility>

#include "runtime/staff.h"
#include "layers/listen_hub.h"
#include "cluster/remote_upstream.h"

namespace lineward {

RemoteMembers::~RemoteMembers() {
  lifetime_.end();
  for (auto& one : leaving_)
    one->served->left = nullptr;
}

RemoteMembers::Member& RemoteMembers::add(RemoteServer shown, std::shared_ptr<net::Mailbox> here) {
  auto made = std::make_unique<Member>();
  Member& one = *made;
  one.server = std::move(shown.server);
  auto remote = std::make_unique<upstream::RemoteUpstream>(loop_, std::move(here), one.server.name,
                                                           std::move(shown.door), std::move(shown.state));
  one.remote = remote.get();
  // Many listen here alike: the other worker has one listen of theirs.
  one.upstream = std::make_unique<upstream::ListenHub>(loop_, std::move(remote), one.server);
  one.guarded = std::make_unique<plugin::GuardedUpstream>(loop_, *one.upstream, plugins_);
  one.served = std::make_shared<exchange::Served>(*one.upstream, one.server);
  members_.push_back(std::move(made));
  return one;
}

std::function<std::shared_ptr<void>()> RemoteMembers::leases(const Member& member) {
  return [served = member.served] { return std::make_shared<exchange::Lease>(served); };
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
  // The last lease may be let go of from within one of its calls.
  one->served->left = lifetime_.guard([this, one] {
    loop_.defer(lifetime_, [this, one] {
      auto gone =
          std::find_if(leaving_.begin(), leaving_.end(), [&](const auto& each) { return each.get() == one; });
      if (gone == leaving_.end()) return;
      loop_.retire(std::move(*gone));
      leaving_.erase(gone);
    });
  });
  exchange::Lease last(one->served);
}

void RemoteMembers::refresh(const std::string& name, upstream::RemoteState state) {
  if (Member* one = find(name)) one->remote->use(std::move(state));
}

void join_remote_members(Staff& staff) {
  for (size_t k = 1; k < staff.workers(); ++k) {
    std::vector<RemoteServer> shown;
    staff.run(k, [&] { shown = staff.worker(k).upstreams().show_new(); });
    for (RemoteServer& one : shown)
      staff.worker(0).upstreams().join_remote(std::move(one));
  }
}

void refresh_remote_members(Staff& staff) {
  for (const auto& [name, home] : staff.homes()) {
    if (home == 0) continue;
    const core::Upstream* server = staff.worker(home).upstreams().find(name);
    if (server != nullptr) staff.worker(0).upstreams().refresh_remote(name, upstream::state_of(*server));
  }
}

}  // namespace lineward
