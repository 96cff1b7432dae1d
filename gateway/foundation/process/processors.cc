#include "foundation/process/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace lineward::process {
namespace {

// The share of a group, in processors; 0: no limit.
double quota_of(const std::string& folder) {
  double quota = 0, period = 0;
  if (std::ifstream both(folder + "/cpu.max"); both >> quota >> period)
    return period > 0 ? quota / period : 0;
  std::ifstream first(folder + "/cpu.cfs_quota_us"), second(folder + "/cpu.cfs_period_us");
  const bool limited = first >> quota && second >> period && quota > 0 && period > 0;
  return limited ? quota / period : 0;
}

}  // namespace

size_t granted_processors(const std::string& self, const std::string& root, size_t processors) {
  double least = static_cast<double>(processors);
  std::ifstream groups(self);
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" in version 2, "4:cpu,cpuacct:/path" in version 1.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const bool of_cpu = names.empty() || ("," + names + ",").find(",cpu,") != std::string::npos;
    if (!of_cpu) continue;
    const std::string mount = root + (names.empty() ? "" : "/cpu");
    // A container may see its own group at the root.
    std::string path = line.substr(second + 1);
    for (;;) {
      while (!path.empty() && path.back() == '/')
        path.pop_back();
      const double quota = quota_of(mount + path);
      if (quota > 0) least = std::min(least, std::ceil(quota));
      if (path.empty()) break;
      path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return std::max<size_t>(1, static_cast<size_t>(least));
}

size_t available_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const size_t processors = known ? static_cast<size_t>(CPU_COUNT(&allowed)) : 1;
  return granted_processors("/proc/self/cgroup", "/sys/fs/cgroup", std::max<size_t>(1, processors));
}

}  // namespace lineward::process
