// Maps paths to servers.
#pragma once

#include <set>
#include <string>

#include "client/endpoint/http_front.h"
#include "cluster/server_placement.h"
#include "config/config.h"

namespace lineward {

client::PathTable routes(const config::Config& config, const ServerPlacement& placement);
// After a reload: keeps the paths in `before` of servers that are leaving.
client::PathTable routes(const config::Config& config, const ServerPlacement& placement,
                         const client::PathTable& before, const std::set<std::string>& leaving);

}  // namespace lineward
