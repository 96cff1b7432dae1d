#include "process/first_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace lineward::net {
namespace {

// Those of a terminal that stop and continue whole groups, and those that are about this process alone.
bool is_passed_on(const siginfo_t& signal) {
  switch (signal.si_signo) {
    case SIGCHLD:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGPIPE: return false;
    default: break;
  }
  // The kernel's own (Ctrl-C, a terminal that is gone) have reached the child too: it is in the same group,
  // and a second Ctrl-C would tell it not to wait for calls that run.
  return signal.si_code != SI_KERNEL;
}

// Everything that has ended. Ends this process when the child is among it.
void reap(pid_t child) {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended < 0 && errno == EINTR) continue;
    if (ended <= 0) return;
    if (ended == child) ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

}  // namespace

void serve_as_first_process() {
  if (::getpid() == 1) stand_before_child();
}

void stand_before_child() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);  // what comes from now on waits until it is asked for
  const pid_t child = ::fork();
  if (child <= 0) {  // one that cannot be had is done without
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return;
  }
  for (;;) {
    siginfo_t signal{};
    if (::sigwaitinfo(&all, &signal) < 0) continue;
    if (signal.si_signo == SIGCHLD)
      reap(child);
    else if (is_passed_on(signal))
      ::kill(child, signal.si_signo);
  }
}

}  // namespace lineward::net
