// Maps paths to servers.
#pragma once

#include <set>
#include <string>

#include "config/config.h"
#include "proxy/client/endpoint/http_front.h"
#include "proxy/cluster/server_placement.h"

namespace lineward::runtime {

client::PathTable routes(const config::Config& config, const cluster::ServerPlacement& placement);
// After a reload: keeps the paths in `before` of servers that are leaving.
client::PathTable routes(const config::Config& config, const cluster::ServerPlacement& placement,
                         const client::PathTable& before, const std::set<std::string>& leaving);

// The paths of a further listener.
client::PathTable routes_of(const config::FurtherListen& listener, const config::Config& config,
                            const cluster::ServerPlacement& placement);
client::PathTable routes_of(const config::FurtherListen& listener, const config::Config& config,
                            const cluster::ServerPlacement& placement, const client::PathTable& before,
                            const std::set<std::string>& leaving);

}  // namespace lineward::runtime
