// The kernel's limits on one process (setrlimit), as sent to the supervisor that sets them.
#pragma once

#include <cstdint>

namespace lineward::process {

enum class Resource : uint8_t { memory, open_files, cpu, processes, core, count_ };

struct ResourceLimit {
  Resource resource = Resource::memory;
  uint64_t value = 0;  // bytes, seconds or a number; soft and hard limit
};

constexpr const char* step_name(Resource resource) {
  constexpr const char* kNames[] = {"rlimit.memory", "rlimit.openFiles", "rlimit.cpu", "rlimit.processes",
                                    "rlimit.core"};
  return kNames[static_cast<uint8_t>(resource)];
}

}  // namespace lineward::process
