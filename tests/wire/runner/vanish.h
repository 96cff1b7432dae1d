// A machine that is gone without a word, played on this one.
#pragma once

namespace lineward::wire {

// Whatever comes for this TCP connection is thrown away by the kernel from here on, unseen: nothing is read,
// nothing is acknowledged, no end is noticed. (Nor does it send a packet, unless the script sends or closes.)
void vanish(int socket);

}  // namespace lineward::wire
