// growth-once PROGRAM ARGS…: runs the program, and writes to descriptor 3 what it cost from its first
// instruction to its end, its threads and children included: "UNIT VALUE STATUS". The unit is user-space
// instructions where the machine counts them, else nanoseconds of processor time (counter.cc); STATUS is its
// exit code.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "instructions.h"

namespace {

// It is opened before the fork, so that the child has it from its exec on.
int open_event() {
  if (std::getenv("GROWTH_CPU_TIME") != nullptr) return -1;
  perf_event_attr what = user_instructions();
  what.inherit = 1;
  what.disabled = 1;
  what.enable_on_exec = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::uint64_t nanoseconds(const timeval& time) {
  return (static_cast<std::uint64_t>(time.tv_sec) * 1000000U + static_cast<std::uint64_t>(time.tv_usec)) *
         1000U;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: growth-once PROGRAM ARGS… (and descriptor 3)\n", stderr);
    return 2;
  }
  const auto event = open_event();
  const auto child = fork();
  if (child < 0) {
    std::perror("fork");
    return 2;
  }
  if (child == 0) {
    ::close(3);
    execv(argv[1], argv + 1);
    std::perror(argv[1]);
    _exit(127);
  }
  int status = 0;
  rusage used{};
  if (wait4(child, &status, 0, &used) != child) {
    std::perror("wait4");
    return 2;
  }
  std::uint64_t count = 0;
  const auto counted =
      event >= 0 && ::read(event, &count, sizeof count) == static_cast<ssize_t>(sizeof count) && count > 0;
  const auto cost = counted ? count : nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime);
  const auto code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  dprintf(3, "%s %llu %d\n", counted ? "instructions" : "nanoseconds", static_cast<unsigned long long>(cost),
          code);
  return 0;
}
