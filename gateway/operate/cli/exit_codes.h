// Exit codes of the process. With 2 and the sysexits, systemd does not restart a process that would fail
// again.
#pragma once

namespace lineward::cli {

enum class ExitCode : int {
  ok = 0,              // or stopped on request
  failure = 1,         // any other runtime failure
  usage = 2,           // bad command line
  tool_error = 5,      // `call` ran, and the tool returned isError
  unavailable = 69,    // a requested resource cannot be reached
  internal = 70,       // a bug
  temporary = 75,      // the address is in use, or does not belong to this machine
  no_permission = 77,  // cannot bind, cannot read a key or the configuration
  bad_config = 78,     // the file is invalid
  timed_out = 124,     // a wait ran out of time
  interrupted = 130,   // by SIGINT
  terminated = 143,    // by SIGTERM
};

}  // namespace lineward::cli
