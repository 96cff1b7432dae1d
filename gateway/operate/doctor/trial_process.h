// A process of a server, started for checks. The gateway's own class starts, reads and stops it, on a loop of
// this object. Blocking, with a limit for every wait but the last one of stop(). It has its own spawner, so
// that no child process outlives this object or this process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "foundation/process/child_process.h"
#include "proxy/upstream/stdio/stdio_process.h"

namespace lineward::doctor {

using Clock = std::chrono::steady_clock;

class TrialProcess final : public upstream::ProcessCallbacks {
 public:
  enum class Next : uint8_t { line, exited, late };

  // `server` outlives it.
  explicit TrialProcess(const config::Server& server) : server_(server) {}
  // Kills the process with all its descendants, and waits until none is left.
  ~TrialProcess();
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  // Call once. False if it does not run; end() has the reason.
  bool start(Clock::time_point until);
  // Queues the line; next() and stop() write it.
  void write_line(std::string_view line) { process_->write_line(std::string(line)); }
  // The next line of its stdout. `exited`: all lines were returned, and end() has the reason.
  Next next(std::string& line, Clock::time_point until);
  // Set when no line can follow: it has exited, or it is being stopped for the reason given.
  const std::optional<upstream::ProcessEnd>& end() const { return end_; }
  bool has_exited() const { return exited_; }
  // Stops it as the gateway does, and waits until it has exited. Returns how long that took.
  std::chrono::milliseconds stop();

 private:
  void on_process_started() override;
  void on_process_line(lineward::json::Text line) override;
  void on_process_down(const upstream::ProcessEnd& end) override;
  void on_process_gone() override;
  bool wait(Clock::time_point until);

  const config::Server& server_;
  net::Loop loop_;
  net::Timer timer_{loop_};
  pid_t spawner_pid_ = 0;
  std::unique_ptr<process::Spawner> spawner_;
  std::unique_ptr<upstream::StdioProcess> process_;
  std::deque<std::string> lines_;
  std::optional<upstream::ProcessEnd> end_;
  std::chrono::milliseconds down_at_{0};  // by the loop's clock
  bool started_ = false;
  bool exited_ = false;
};

}  // namespace lineward::doctor
