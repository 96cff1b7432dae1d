// Whether the machine at the other end of a TCP connection is still there. One that loses its power, its
// cable or the router between says no word: neither FIN nor RST comes, and a connection on which nothing is
// sent stands for ever.
//
// For sockets of TCP; others cannot lose their other end, and these functions do nothing there.
#pragma once

#include <chrono>

namespace lineward::net {

// Has the kernel ask, whenever nothing has come for `quiet` (in whole seconds, at least one), and eight times
// more: after nine times that the connection ends with ETIMEDOUT. While something that was sent is not
// acknowledged the kernel does not ask, but sends that again, for a quarter of an hour: see is_silent().
void ask_when_quiet(int socket, std::chrono::milliseconds quiet);

// Something is on its way there, and for nine times `quiet` nothing was acknowledged, what was sent again
// neither. One that reads slowly is not silent: it answers whoever asks it for room.
bool is_silent(int socket, std::chrono::milliseconds quiet);

}  // namespace lineward::net
