// Whether the remote host of a TCP connection still answers. A host that loses power, its cable or a router
// sends neither FIN nor RST, and an idle connection to it stays open for ever.
//
// For TCP sockets; other sockets cannot lose their peer this way, and these functions do nothing for them.
#pragma once

#include <chrono>

namespace lineward::net {

// Has the kernel probe the connection when nothing arrived for `quiet` (whole seconds, at least one), up to
// eight times. After nine times `quiet` the connection ends with ETIMEDOUT. While sent data is unacknowledged
// the kernel retransmits for a quarter of an hour instead of probing: see is_silent().
void ask_when_quiet(int socket, std::chrono::milliseconds quiet);

// Sent data, including retransmissions, has not been acknowledged for nine times `quiet`. A slow reader is
// not silent: it answers window probes.
bool is_silent(int socket, std::chrono::milliseconds quiet);

}  // namespace lineward::net
