// What /proc tells of a process, for metrics. Linux only, like the rest; read when somebody asks, never
// before.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace lineward::admin {

struct ProcessInfo {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double open_fds = 0;
};

// False when there is no such process (any more).
bool read_process(pid_t pid, ProcessInfo& out);
// The same for a process and all below it (npx → sh → node), at most 64 of them.
bool read_tree(pid_t root, ProcessInfo& out);

}  // namespace lineward::admin
