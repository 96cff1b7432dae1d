// Which server is served at which path.
#pragma once

#include <set>
#include <string>

#include "client/endpoint/http_front.h"
#include "cluster/server_placement.h"
#include "config/config.h"

namespace lineward {

client::PathTable routes(const config::Config& config, const ServerPlacement& placement);
// After a reload: with what `before` had for servers that are on their way out.
client::PathTable routes(const config::Config& config, const ServerPlacement& placement,
                         const client::PathTable& before, const std::set<std::string>& leaving);

}  // namespace lineward
