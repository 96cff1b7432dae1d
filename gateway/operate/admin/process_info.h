// Reads /proc of a process for metrics. Linux only; read on demand.
#pragma once

#include <sys/types.h>

namespace lineward::admin {

struct ProcessInfo {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double open_fds = 0;
};

// False if the process does not exist.
bool read_process(pid_t pid, ProcessInfo& out);
// The same for a process and its descendants (npx → sh → node), at most 64 of them.
bool read_tree(pid_t root, ProcessInfo& out);

}  // namespace lineward::admin
