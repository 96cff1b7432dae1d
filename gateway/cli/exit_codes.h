// What the process says when it ends. 2 and the sysexits keep systemd from restarting what cannot get better.
#pragma once

namespace lineward::cli {

enum class ExitCode : int {
  ok = 0,              // or stopped as asked
  failure = 1,         // a runtime failure not below
  usage = 2,           // bad command line
  tool_error = 5,      // `call` ran and the tool said isError
  unavailable = 69,    // something that was asked for cannot be reached
  internal = 70,       // a bug
  temporary = 75,      // the address is in use, or is none of this machine's
  no_permission = 77,  // cannot bind, cannot read a key or the configuration
  bad_config = 78,     // the file is invalid
  timed_out = 124,     // a wait ran out of time
  interrupted = 130,   // by SIGINT
  terminated = 143,    // by SIGTERM
};

}  // namespace lineward::cli
