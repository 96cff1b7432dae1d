#include "operate/cli/gateway_process.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

namespace lineward::cli {

GatewayProcess::~GatewayProcess() {
  if (pid_ == 0) return;
  kill_now();
  wait();
}

void GatewayProcess::kill_now() {
  if (pid_ != 0) ::kill(pid_, SIGKILL);
}

void GatewayProcess::wait() {
  if (pid_ == 0) return;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace lineward::cli
