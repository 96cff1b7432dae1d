// Who starts Lineward through another program that only stands in between (conf/npm) wants it to end with
// that one, however it ends. Such a launcher says who it is in LINEWARD_PARENT.
#pragma once

#include <cstdint>

namespace lineward::net {

enum class Launcher : uint8_t {
  none,
  alive,  // the kernel sends SIGTERM to this process when it ends, which is only sure while it has one thread
  gone    // before that could be asked for: nobody waits for this process any more
};

// Takes the variable out of the environment, so that servers do not have it. Call it once, in main(), while
// there is one thread. What is no process id counts as none.
Launcher follow_launcher();

}  // namespace lineward::net
