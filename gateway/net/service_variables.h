// What a service manager says in the environment of the process that it starts (sd_notify(3),
// sd_listen_fds(3)).
#pragma once

#include <chrono>
#include <string>

namespace lineward::net {

struct ServiceVariables {
  std::string notify_socket;
  std::string watchdog_usec;
  std::string watchdog_pid;
  std::string listen_fds;
  std::string listen_pid;
  std::string listen_fdnames;
};

// Reads and removes them: the servers that are started later must not speak for this process. For the one
// thread that there is at the start.
ServiceVariables take_service_variables();

// How often this process has to be heard of at the least; 0: nobody waits for it.
std::chrono::microseconds watchdog_of(const ServiceVariables& variables);

}  // namespace lineward::net
