// The worker of each server. A server stays on its worker for as long as the gateway runs; a new one is
// placed on the worker with the fewest.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/aggregate.h"
#include "config/config.h"

namespace lineward::cluster {

using ServerPlacement =
    std::unordered_map<std::string, size_t>;  // by server name; a server without an entry is on 0

inline void place_servers(ServerPlacement& placement, const config::Config& config, size_t workers) {
  if (workers <= 1) return;
  std::vector<size_t> load(workers, 0);
  if (config::is_aggregated(config)) ++load[0];  // the aggregate counts too
  for (const auto& [name, worker] : placement)
    ++load[worker];
  for (const auto& server : config.servers) {
    if (server.disabled || placement.count(server.name) > 0) continue;
    const auto worker = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    placement[server.name] = worker;
    ++load[worker];
  }
}

inline size_t worker_of(const ServerPlacement& placement, const std::string& server) {
  auto found = placement.find(server);
  return found == placement.end() ? 0 : found->second;
}

}  // namespace lineward::cluster
