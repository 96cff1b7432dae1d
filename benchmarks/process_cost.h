// The cost of a gateway's processes so far, without the stdio servers that it started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace bench {

struct Cost {
  double front_cpu = 0;   // seconds, user and system
  double server_cpu = 0;  // of the stdio servers that live now
  int64_t front_rss_kib = 0;
  int64_t front_pss_kib = 0;
  int front_processes = 0;
  int server_processes = 0;
};

// `marker` stands in the command line of the stdio server. The front's own command line has it too: what
// looks the same as the root process is the front's (a fork without exec).
Cost cost_of(pid_t root, std::string_view marker);

}  // namespace bench
