// growth-counter PID: what the threads of a running process have cost since they were asked for. A command a
// line on stdin: `start` begins to count and answers with the unit, `read` answers "VALUE STATE", STATE being
// idle or busy. The unit is user-space instructions, one event for each thread, since a running process hands
// no event on to threads that it already has. If the kernel or the machine gives none (containers, virtual
// machines), it is nanoseconds of processor time.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "instructions.h"

namespace {

namespace fs = std::filesystem;

std::uint64_t nanoseconds_of(pid_t pid) {
  // The process's clock counts running threads up to now, and threads that have ended. The kernel's text
  // files are updated at its next tick only.
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000U + static_cast<std::uint64_t>(time.tv_nsec);
}

class Counter {
 public:
  explicit Counter(pid_t pid) : pid_(pid), tasks_("/proc/" + std::to_string(pid) + "/task") {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() { close_events(); }

  // Says whether instructions can be counted.
  bool start() {
    close_events();
    in_instructions_ = std::getenv("GROWTH_CPU_TIME") == nullptr && open_events() && !events_.empty();
    begin_ = nanoseconds_of(pid_);
    return in_instructions_;
  }

  std::uint64_t value() {
    if (!in_instructions_) {
      return nanoseconds_of(pid_) - begin_;
    }
    open_events();  // for threads that were started meanwhile
    std::uint64_t sum = 0;
    for (const auto& [thread, event] : events_) {
      std::uint64_t count = 0;
      if (::read(event, &count, sizeof count) == static_cast<ssize_t>(sizeof count)) {
        sum += count;
      }
    }
    return sum;
  }

  // Whether a thread runs, or could.
  [[nodiscard]] bool is_busy() const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(tasks_, error)) {
      std::ifstream file(entry.path() / "stat");
      std::string line;
      std::getline(file, line);
      const auto name_end = line.rfind(')');  // a thread's name may have anything in it
      if (name_end != std::string::npos && name_end + 2 < line.size() &&
          (line[name_end + 2] == 'R' || line[name_end + 2] == 'D')) {
        return true;
      }
    }
    return false;
  }

 private:
  bool open_events() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(tasks_, error)) {
      const auto thread = std::stoi(entry.path().filename().string());
      if (events_.contains(thread)) {
        continue;
      }
      perf_event_attr what = user_instructions();
      const auto event =
          static_cast<int>(syscall(SYS_perf_event_open, &what, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
      if (event < 0) {
        return false;
      }
      events_.emplace(thread, event);
    }
    return !error;
  }

  void close_events() {
    for (const auto& [thread, event] : events_) {
      ::close(event);
    }
    events_.clear();
  }

  pid_t pid_;
  fs::path tasks_;
  std::map<int, int> events_;  // by thread
  std::uint64_t begin_ = 0;
  bool in_instructions_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const auto pid = argc == 2 ? std::atoi(argv[1]) : 0;
  if (pid <= 0) {
    std::fputs("usage: growth-counter PID\n", stderr);
    return 2;
  }
  Counter counter(pid);
  std::string command;
  while (std::getline(std::cin, command)) {
    if (command == "start") {
      std::puts(counter.start() ? "instructions" : "nanoseconds");
    } else if (command == "read") {
      const auto busy = counter.is_busy();
      std::printf("%llu %s\n", static_cast<unsigned long long>(counter.value()), busy ? "busy" : "idle");
    } else {
      std::puts("what?");
    }
    std::fflush(stdout);
  }
  return 0;
}
