// The workers of each server. A server has one home for as long as the gateway runs; a new one gets the
// worker with the fewest. A server that keeps nothing for callers without a session is on all other workers
// too, and so are all servers as one.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/aggregate.h"
#include "config/config.h"
#include "proxy/upstream/shared/shared_server.h"

namespace lineward::cluster {

struct ServerPlace {
  size_t home = 0;
  std::shared_ptr<upstream::SharedServer> shared;  // null: it is at home only
  std::shared_ptr<upstream::HomeEra> era;          // then it has this; else null

  std::shared_ptr<const upstream::KnownEra> known_era() const {
    return shared ? std::shared_ptr<const upstream::KnownEra>(shared) : era;
  }
};

using ServerPlacement =
    std::unordered_map<std::string, ServerPlace>;  // by server name; a server without an entry is on 0

// Each worker has a part of the connections, and gives up idle sessions of its own only. Few of them are
// better used in one place.
inline bool is_on_all(const config::Server& server, size_t workers) {
  constexpr size_t kLeast = 16;  // of each worker
  return workers > 1 && !server.url.empty() && server.workers == config::ServerWorkers::all &&
         server.limits.max_connections >= kLeast * workers && server.limits.idle_connections >= workers &&
         server.limits.max_sessions >= kLeast * workers;
}

inline void place_servers(ServerPlacement& placement, const config::Config& config, size_t workers) {
  if (workers <= 1) return;
  // The aggregate's callers share sessions with those of a server's own path, on the first worker.
  const bool aggregated = config::is_aggregated(config);
  std::vector<size_t> load(workers, 0);
  if (aggregated) ++load[0];
  for (const auto& server : config.servers) {  // removed ones keep their home, but are no load
    const auto known = server.disabled ? placement.end() : placement.find(server.name);
    if (known != placement.end() && (!aggregated || !known->second.shared)) ++load[known->second.home];
  }
  for (const auto& server : config.servers) {
    if (server.disabled) continue;
    const bool on_all = is_on_all(server, workers);
    auto [entry, is_new] = placement.try_emplace(server.name);
    ServerPlace& place = entry->second;
    if (is_new && !(on_all && aggregated)) {
      place.home = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
      ++load[place.home];
    }
    if (!on_all) {
      place.shared.reset();
      if (!place.era) place.era = std::make_shared<upstream::HomeEra>();
    } else if (!place.shared) {
      place.shared = std::make_shared<upstream::SharedServer>();
      place.era.reset();
    }
  }
}

inline size_t worker_of(const ServerPlacement& placement, const std::string& server) {
  auto found = placement.find(server);
  return found == placement.end() ? 0 : found->second.home;
}

inline ServerPlace place_of(const ServerPlacement& placement, const std::string& server) {
  auto found = placement.find(server);
  return found == placement.end() ? ServerPlace() : found->second;
}

// The aggregate is on all workers, and not on the first alone.
inline bool is_aggregate_on_all(const ServerPlacement& placement, const config::Config& config) {
  return !placement.empty() && config::is_aggregated(config) &&
         config.aggregate.workers == config::ServerWorkers::all;
}

// Null: it is at home only.
inline std::shared_ptr<upstream::SharedServer> shared_server(const ServerPlacement& placement,
                                                             const std::string& server) {
  auto found = placement.find(server);
  return found == placement.end() ? nullptr : found->second.shared;
}

inline bool is_on(const ServerPlacement& placement, const std::string& server, size_t worker) {
  return worker_of(placement, server) == worker || shared_server(placement, server) != nullptr;
}

}  // namespace lineward::cluster
