// A process of a server, started for checks. Blocking, with a limit for every wait. It has its own spawner,
// so that no child process outlives this object or this process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "foundation/process/child_process.h"
#include "foundation/process/spawn_wire.h"
#include "foundation/process/stderr_tail.h"

namespace lineward::doctor {

using Clock = std::chrono::steady_clock;

class TrialProcess {
 public:
  enum class Next : uint8_t { line, exited, late };
  static constexpr size_t kMaxLine = 16 << 20;

  TrialProcess() = default;
  ~TrialProcess() { end_now(); }
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  // Call once. nullopt: it runs; else the reason why it does not.
  std::optional<Error> start(const process::SpawnRequest& request, Clock::time_point until);
  // False if the process does not read it in time.
  bool write_line(std::string_view line, Clock::time_point until);
  // The next line of its stdout. `exited` is returned when it has exited or closed its stdout (then exit() is
  // empty), and all lines were returned.
  Next next(std::string& line, Clock::time_point until);
  void close_stdin() { stdin_.reset(); }
  void signal(process::TreeSignal which);
  // True if it has exited by then. Discards its stdout.
  bool wait_exit(Clock::time_point until);
  const std::optional<process::ExitStatus>& exit() const { return exit_; }
  // The stderr line that explains its exit, chosen as by the gateway.
  const std::string& last_stderr() const { return stderr_tail_.text(); }
  // Kills it with all its descendants, and waits until none is left.
  void end_now();

 private:
  bool pump(Clock::time_point until);
  void hear_spawner();
  void hear_stderr();

  process::spawning::OwnedFd spawner_, stdin_, stdout_, stderr_;
  pid_t spawner_pid_ = 0;
  bool started_ = false;
  std::optional<Error> failure_;
  std::optional<process::ExitStatus> exit_;
  std::string out_;
  Clock::time_point stdout_closed_;
  std::string stderr_line_;
  process::StderrTail stderr_tail_;
};

}  // namespace lineward::doctor
