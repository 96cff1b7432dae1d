// The two configurations made of that of `lineward stdio --share`: of the shared gateway, and of the front
// that each client has.
#pragma once

#include <chrono>
#include <string>

#include "config/config.h"
#include "operate/share/share_place.h"

namespace lineward::share {

// The servers and policies as configured; the only listener is the socket. Sessions last as long as the
// leases of their clients, and all clients are one user.
config::Config gateway_config(config::Config config, const SharePlace& place);
// How long a client waits for the gateway: the longest timeouts.startup.
std::chrono::milliseconds start_limit(const config::Config& config);
// The shared gateway is the only server. Limits of calls are the gateway's; `token` names this client's
// state.
config::Config client_config(const config::Config& config, const SharePlace& place, const std::string& token);

}  // namespace lineward::share
