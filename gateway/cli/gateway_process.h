// A gateway of a command's own: a process that serves this one client over a socket, as `lineward stdio`
// does on stdin and stdout. What a command asks a server for goes through it, so that eras, limits, cancels
// and the end of processes are what they are everywhere.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/result.h"
#include "config/config.h"

namespace lineward::cli {

struct StartedGateway {
  int socket = -1;  // speaks JSON-RPC, one message a line
  pid_t pid = 0;    // a child of this process, in a session of its own
};
// Forks; `config.listen.address` is "stdio". Given by main(), which alone knows what a gateway is made of.
// The gateway writes its log to `log` (a descriptor, which stays the caller's).
using GatewayStarter = std::function<Result<StartedGateway>(config::Config config, int log)>;

class GatewayProcess {
 public:
  // The descriptor of the socket is its user's; this one has the process.
  explicit GatewayProcess(pid_t pid) : pid_(pid) {}
  // Kills it when it still runs: its spawner ends the server's processes then.
  ~GatewayProcess();
  GatewayProcess(const GatewayProcess&) = delete;
  GatewayProcess& operator=(const GatewayProcess&) = delete;

  void kill_now();
  // Blocks until it has ended. Call it when the socket has come to its end, or after kill_now().
  void wait();

 private:
  pid_t pid_;
};

}  // namespace lineward::cli
