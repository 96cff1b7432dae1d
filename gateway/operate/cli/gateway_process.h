// A private gateway of a command: a process that serves this client over a socket, as `lineward stdio` does
// on stdin and stdout. All requests of the command use it, so that eras, limits, cancels and process ends
// behave as in any gateway.
#pragma once

#include <sys/types.h>

#include <functional>

#include "config/config.h"
#include "foundation/base/result.h"

namespace lineward::cli {

struct StartedGateway {
  int socket = -1;  // JSON-RPC, one message per line
  pid_t pid = 0;    // a child of this process, in its own session
};
// Forks; `config.listen.address` is "stdio". Provided by main(), which can construct a gateway. The gateway
// writes its log to `log` (a descriptor owned by the caller).
using GatewayStarter = std::function<Result<StartedGateway>(config::Config config, int log)>;

class GatewayProcess {
 public:
  // The socket's user owns its descriptor; this object owns the process.
  explicit GatewayProcess(pid_t pid) : pid_(pid) {}
  // Kills the process if it still runs: its spawner then ends the server's processes.
  ~GatewayProcess();
  GatewayProcess(const GatewayProcess&) = delete;
  GatewayProcess& operator=(const GatewayProcess&) = delete;

  void kill_now();
  // Blocks until it has exited. Call it after the socket has reached its end, or after kill_now().
  void wait();

 private:
  pid_t pid_;
};

}  // namespace lineward::cli
