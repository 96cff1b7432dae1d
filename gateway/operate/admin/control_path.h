// The control socket's path: a directory accessible to its owner only, with one socket per gateway, named by
// its process. Used by the gateway and by commands that search for gateways.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::admin {

// $XDG_RUNTIME_DIR/lineward, /run/lineward and /tmp/lineward-UID, in this order.
std::vector<std::string> socket_directories();

// The first of them that exists or can be made, is owned by this user and closed to others. The path of a
// socket with a name of this length fits. `for_what`: for the error.
Result<std::string> own_directory(size_t longest_name, std::string_view for_what);

// This process's path in it.
Result<std::string> own_socket_path();

// The sockets in those directories with a listener. Removes this user's stale socket files, on which a
// connect is refused.
std::vector<std::string> live_sockets();

}  // namespace lineward::admin
