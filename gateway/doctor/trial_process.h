// One process of a server, started to be looked at: blocking, with an end to every wait, and with a spawner
// of its own, so that nothing of it outlives this object or this process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "process/child_process.h"
#include "process/last_words.h"
#include "process/spawn_wire.h"

namespace lineward::doctor {

using Clock = std::chrono::steady_clock;

class TrialProcess {
 public:
  enum class Heard : uint8_t { line, exited, late };
  static constexpr size_t kMaxLine = 16 << 20;

  TrialProcess() = default;
  ~TrialProcess() { end_now(); }
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  // Once. Nothing when it runs, else why it does not.
  std::optional<net::SpawnFailure> start(const net::SpawnRequest& request, Clock::time_point until);
  // False when it does not take it, or not in time.
  bool write_line(std::string_view line, Clock::time_point until);
  // The next line on its stdout. `exited` comes when it has ended, or closed its stdout (then there is no
  // exit()), and every line was told.
  Heard next(std::string& line, Clock::time_point until);
  void close_stdin() { stdin_.reset(); }
  void signal(net::TreeSignal which);
  // True when it has ended by then. Its stdout is thrown away.
  bool wait_exit(Clock::time_point until);
  const std::optional<net::ExitStatus>& exit() const { return exit_; }
  // The line of its stderr that says why it ended, as the gateway tells it.
  const std::string& last_stderr() const { return last_words_.text(); }
  // Kills it with all that it has started, and waits until nothing is left.
  void end_now();

 private:
  bool pump(Clock::time_point until);
  void hear_spawner();
  void hear_stderr();

  net::spawning::OwnedFd spawner_, stdin_, stdout_, stderr_;
  pid_t spawner_pid_ = 0;
  bool started_ = false;
  std::optional<net::SpawnFailure> failure_;
  std::optional<net::ExitStatus> exit_;
  std::string out_;
  Clock::time_point stdout_closed_;
  std::string stderr_line_;
  net::LastWords last_words_;
};

}  // namespace lineward::doctor
