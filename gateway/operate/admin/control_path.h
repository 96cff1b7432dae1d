// The control socket's path: a directory accessible to its owner only, with one socket per gateway, named by
// its process. Used by the gateway and by commands that search for gateways.
#pragma once

#include <string>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::admin {

// $XDG_RUNTIME_DIR/lineward, /run/lineward and /tmp/lineward-UID, in this order.
std::vector<std::string> socket_directories();

// This process's path in the first of them that exists or can be made, is owned by this user and closed to
// others.
Result<std::string> own_socket_path();

// The sockets in those directories with a listener. Removes this user's stale socket files, on which a
// connect is refused.
std::vector<std::string> live_sockets();

}  // namespace lineward::admin
