// How many processors this process may use: those of its affinity mask, and no more than its control groups
// grant, rounded up. A group grants time by cpu.max (version 2) or cpu.cfs_quota_us (version 1).
#pragma once

#include <cstddef>
#include <string>

namespace lineward::process {

// At least 1. A group that cannot be read grants everything.
size_t available_processors();

// The same for a given `self` (/proc/self/cgroup) and `root` (/sys/fs/cgroup), among so many processors.
size_t granted_processors(const std::string& self, const std::string& root, size_t processors);

}  // namespace lineward::process
