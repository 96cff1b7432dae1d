// Which server is served at which path.
#pragma once

#include <set>
#include <string>

#include "client/endpoint/http_front.h"
#include "config/config.h"
#include "cluster/homes.h"

namespace lineward {

client::PathTable routes(const config::Config& config, const HomeMap& homes);
// After a reload: with what `before` had for servers that are on their way out.
client::PathTable routes(const config::Config& config, const HomeMap& homes, const client::PathTable& before,
                         const std::set<std::string>& leaving);

}  // namespace lineward
