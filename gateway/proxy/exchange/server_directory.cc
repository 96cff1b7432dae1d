#include "proxy/exchange/server_directory.h"

#include <utility>

namespace lineward::exchange {

void ServerDirectory::close() {
  lifetime_.end();
  for (auto& served : retiring_)
    served->left = nullptr;
  for (const std::string& name : watched_)
    metrics::upstream_stats(name).cancel_watcher = nullptr;
  watched_.clear();
}

void ServerDirectory::add(core::Upstream& upstream, const config::Server& server) {
  servers_[upstream.name()] = std::make_shared<ServerVersion>(upstream, server);
  hear_cancels(upstream.name());
}

void ServerDirectory::hear_cancels(const std::string& name) {
  metrics::upstream_stats(name).cancel_watcher = &cancels_;
  watched_.insert(name);
}

ServerRef ServerDirectory::retire(core::Upstream& upstream, std::function<void()> left) {
  auto found = servers_.find(upstream.name());
  if (found == servers_.end() || &found->second->upstream != &upstream) return {};
  std::shared_ptr<ServerVersion> served = std::move(found->second);
  servers_.erase(found);
  retiring_.push_back(served);
  served->retiring = true;
  served->left = [this, one = served.get(), left = std::move(left)] {
    loop_.defer(lifetime_, [this, one, left] {
      std::erase_if(retiring_, [&](const auto& each) { return each.get() == one; });
      left();
    });
  };
  return ServerRef(std::move(served));
}

core::Upstream* ServerDirectory::find(const std::string& name) const {
  auto found = servers_.find(name);
  return found == servers_.end() ? nullptr : &found->second->upstream;
}

ServerRef ServerDirectory::lease(const std::string& name) const {
  auto found = servers_.find(name);
  return found == servers_.end() ? ServerRef() : ServerRef(found->second);
}

std::function<std::shared_ptr<void>()> ServerDirectory::leases(const core::Upstream& upstream) const {
  auto found = servers_.find(upstream.name());
  if (found == servers_.end()) return [] { return nullptr; };
  return [served = found->second] { return std::make_shared<ServerRef>(served); };
}

std::optional<std::vector<std::string>> ServerDirectory::versions(const std::string& name) const {
  const core::Upstream* upstream = find(name);
  return upstream == nullptr ? std::nullopt : upstream->status().versions;
}

std::optional<bool> ServerDirectory::keeps_sessions(const std::string& name) const {
  const core::Upstream* upstream = find(name);
  return upstream == nullptr ? std::optional(true) : upstream->facts().keeps_sessions;
}

std::unique_ptr<core::Hop> ServerDirectory::hop(const std::string& name, core::HopRequest request,
                                                core::HopListener& listener) const {
  core::Upstream* upstream = find(name);
  core::HopSource* hops = upstream == nullptr ? nullptr : upstream->parts({}).hops;
  return hops == nullptr ? nullptr : hops->hop(std::move(request), listener);
}

}  // namespace lineward::exchange
