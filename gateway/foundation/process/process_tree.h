// Lists the descendants of a process, and signals all of them. For the spawner and the supervisors: both are
// sub-reapers, so everything they started stays below them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace lineward::process::spawning {

// The direct children, zombies included; empty when /proc does not have them. A scan may miss a child while
// its siblings end, so a caller that needs certainty repeats it or calls waitpid.
std::optional<std::vector<pid_t>> children_of(pid_t pid);

// Signals these processes and all their descendants, group by group: a group cannot escape a signal by
// forking. Each process gets it once. The roots must be in sessions of their own or in the caller's process
// group.
void signal_trees(const std::vector<pid_t>& roots, int signal);

int64_t now_ms();  // monotonic

}  // namespace lineward::process::spawning
