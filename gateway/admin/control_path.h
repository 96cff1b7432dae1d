// Where the control socket is: one directory that only its owner may enter, one socket for each gateway,
// named by its process. Used by the gateway and by the commands that look for it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lineward::admin {

// $XDG_RUNTIME_DIR/lineward, /run/lineward and /tmp/lineward-UID, in this order.
std::vector<std::string> socket_directories();

// A path for this process in the first of them that exists or can be made, is ours and not open to others.
Result<std::string> own_socket_path();

// Connects without waiting; -1 and errno when nobody listens there, EAGAIN when somebody does whose queue is
// full. The socket never blocks. The caller closes it.
int connect_unix(const std::string& path);

// The sockets in those directories that somebody listens on. Files that are left of a process that is gone
// are removed: those of ours on which a connect is refused.
std::vector<std::string> live_sockets();

}  // namespace lineward::admin
