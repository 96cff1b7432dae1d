// Environment variables that a service manager sets for the process (sd_notify(3), sd_listen_fds(3)).
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

// Reads and removes the variables: servers started later must not notify for this process. Call it at the
// start, while there is one thread.
ServiceVariables take_service_variables();

// The watchdog interval; 0: no watchdog.
std::chrono::microseconds watchdog_of(const ServiceVariables& variables);

}  // namespace lineward::net
