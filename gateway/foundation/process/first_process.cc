#include "foundation/process/first_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace lineward::process {
namespace {

// Excludes the terminal's signals that stop and continue whole groups, and signals about this process alone.
bool is_passed_on(const siginfo_t& signal) {
  switch (signal.si_signo) {
    case SIGCHLD:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGPIPE: return false;
    default: break;
  }
  // The kernel's own signals (Ctrl-C, a lost terminal) have reached the child too, which is in the same
  // group. A second Ctrl-C would make it abort running calls.
  return signal.si_code != SI_KERNEL;
}

// Reaps every ended process. Ends this process when the child is among them.
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
  ::sigprocmask(SIG_BLOCK, &all, &before);  // later signals stay pending until they are read
  const pid_t child = ::fork();
  if (child <= 0) {  // a failed fork is tolerated
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

}  // namespace lineward::process
