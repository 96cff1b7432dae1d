// The processors that this process may use: those of its affinity mask, and no more than the time that its
// control groups grant (cpu.max of version 2, cpu.cfs_quota_us of version 1), rounded up.
#pragma once

#include <cstddef>
#include <string>

namespace lineward::process {

// At least 1. A group that cannot be read grants everything.
size_t available_processors();

// The same for a given `self` (/proc/self/cgroup) and `root` (/sys/fs/cgroup), among so many processors.
size_t granted_processors(const std::string& self, const std::string& root, size_t processors);

}  // namespace lineward::process
