// Ends Lineward together with a launcher program that only stands in between (conf/npm), however the launcher
// ends. Such a launcher writes its pid to LINEWARD_PARENT.
#pragma once

#include <cstdint>

namespace lineward::process {

enum class Launcher : uint8_t {
  none,
  alive,  // the kernel sends SIGTERM to this process when it ends, which is only sure while it has one thread
  gone    // it ended before that could be arranged: this process is no longer needed
};

// Removes the variable from the environment, so that servers do not get it. To be called once, in main(),
// while there is one thread. An invalid process id counts as none.
Launcher follow_launcher();

}  // namespace lineward::process
