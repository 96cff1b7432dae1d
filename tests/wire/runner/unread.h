// The bytes that a TCP connection on this machine has sent and the other side has not read yet.
#pragma once

namespace lineward::wire {

// The kernel tells of both ends' queues. False too where it tells nothing, or the connection is gone.
bool has_unread(int fd);

}  // namespace lineward::wire
