// A process of a stdio server: its pipes, its lines, its end. Knows no protocol.
//
// Owned by an instance or a probe, which is its ProcessCallbacks. Free it only after on_process_gone() or at
// the end of a loop turn. Destroying it earlier kills the whole process tree.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "foundation/json/line_splitter.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/lifetime.h"
#include "foundation/process/child_process.h"
#include "foundation/process/stderr_tail.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/shared/flood.h"
#include "proxy/upstream/shared/process_end.h"
#include "proxy/upstream/stdio/cut_lines.h"

namespace lineward::upstream {

class ProcessCallbacks {
 public:
  virtual void on_process_started() = 0;
  virtual void on_process_line(json::Text line) = 0;
  // No further requests are possible; called once. The process may still be exiting.
  virtual void on_process_down(const ProcessEnd& end) = 0;
  // The process has exited (or never began); called once, after down.
  virtual void on_process_gone() = 0;
  virtual void on_process_writable() {}

 protected:
  ~ProcessCallbacks() = default;
};

class StdioProcess {
 public:
  StdioProcess(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
               ProcessCallbacks& owner);
  ~StdioProcess();

  // Never calls back before it returns.
  // `about_caller`: variables about its only caller (config/server_environment.h).
  void start(const config::Identity::Map& about_caller = {});
  void write_line(std::string message);
  size_t backlog() const { return in_.stream ? in_.stream->backlog() : 0; }
  // The bytes written to it that it has read.
  uint64_t taken() const { return written_ - backlog(); }
  // Closes stdin, waits, sends SIGTERM to the tree, waits, sends SIGKILL. `why` is passed to on_process_down.
  void stop(const ProcessEnd& why);
  // The same without waiting.
  void kill(const ProcessEnd& why);
  // Counts lines that were useless to all clients; a process that floods is ended.
  void count_useless(uint64_t lines);
  bool down() const { return down_; }
  pid_t pid() const { return child_ ? child_->pid() : 0; }
  const std::string& last_stderr() const { return stderr_tail_.text(); }
  // How it ended; valid once it is gone.
  metrics::ExitCause exit_cause() const { return exit_cause_; }

 private:
  struct Pipe final : net::StreamCallbacks {
    explicit Pipe(StdioProcess& its_process) : process(its_process) {}
    StdioProcess& process;
    std::unique_ptr<net::ByteStream> stream;
    Status<> open(int fd);
    void close();
    void on_data(std::string_view bytes) override;
    void on_end(int) override;
    void on_drained() override;
  };
  void stdin_end();
  void stdout_data(std::string_view bytes);
  void stdout_end();
  void stderr_data(std::string_view bytes);
  void stderr_line(const std::string& line);
  void stderr_end();
  void tell_dropped_stderr();
  void last_stderr_read();
  void read_last_lines(std::chrono::milliseconds until);
  void failed(const Error& failure);
  void exited(process::ExitStatus status);
  void go_down(ProcessEnd end);
  void begin_stop();
  void check_gone();
  std::vector<process::ResourceLimit> resource_limits() const;

  net::Loop& loop_;
  process::Spawner& spawner_;
  const config::Server& server_;
  ProcessCallbacks& owner_;
  metrics::UpstreamStats& stats_;
  metrics::ExitCause exit_cause_ = metrics::ExitCause::exit;
  std::unique_ptr<process::ChildProcess> child_;
  Pipe in_{*this}, out_{*this}, err_{*this};
  LineSplitter lines_;
  CutLines stderr_lines_;
  net::Timer timer_{loop_};
  process::StderrTail stderr_tail_;
  std::string exit_text_;
  uint64_t stderr_budget_ = 0;  // bytes still logged in this second
  std::chrono::milliseconds stderr_second_{0};
  uint64_t stderr_dropped_ = 0;
  LineFlood flood_;
  StderrFlood stderr_flood_;
  bool exited_ = false;
  bool out_ended_ = false;
  bool err_ended_ = false;
  uint64_t written_ = 0;  // bytes, to its stdin
  bool stopping_ = false;
  bool down_ = false;
  bool gone_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
