// Which worker each server lives on. A server keeps its home for as long as the gateway runs; a new one goes
// to the worker that has fewest.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/aggregate.h"
#include "config/config.h"

namespace lineward {

using HomeMap = std::unordered_map<std::string, size_t>;  // by server name; who is not in it lives on 0

inline void assign_homes(HomeMap& homes, const config::Config& config, size_t workers) {
  if (workers <= 1) return;
  std::vector<size_t> load(workers, 0);
  if (config::is_aggregated(config)) ++load[0];  // all servers as one are a load too
  for (const auto& [name, home] : homes)
    ++load[home];
  for (const auto& server : config.servers) {
    if (server.disabled || homes.count(server.name) > 0) continue;
    const auto home = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    homes[server.name] = home;
    ++load[home];
  }
}

inline size_t home_of(const HomeMap& homes, const std::string& server) {
  auto found = homes.find(server);
  return found == homes.end() ? 0 : found->second;
}

}  // namespace lineward
