// A long-lived process that answers a hook's questions: one JSON object per line in each direction. Restarted
// with growing pauses when it exits.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "foundation/json/line_splitter.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/lifetime.h"
#include "foundation/process/child_process.h"
#include "plugins/hook/hook_dispatcher.h"
#include "plugins/hook/hook_transport.h"

namespace lineward::plugins {

struct HookCommand {
  std::string name;  // the plugin's
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env;
  std::string cwd;
};

class HookProcess final : public HookTransport {
 public:
  HookProcess(net::Loop& loop, process::Spawner& spawner, HookCommand command, HookDispatcher& owner);
  ~HookProcess() override;

  bool ready() const override;
  std::string_view broken() const override { return broken_; }
  void send(uint64_t id, std::string line) override;
  void forget(uint64_t) override {}
  void unresponsive() override;
  uint64_t restarts() const override { return restarts_; }

 private:
  struct Pipe final : net::StreamCallbacks {
    HookProcess* process = nullptr;
    std::unique_ptr<net::ByteStream> stream;
    void on_data(std::string_view bytes) override;
    void on_end(int) override;
    void on_drained() override;
  };
  void start();
  bool open(Pipe& pipe, int fd);
  void out_data(std::string_view bytes);
  void err_data(std::string_view bytes);
  void line(const std::string& text);
  // The end of the pipe and the exit status arrive in any order, and the pipe may still hold answers.
  void ending(const std::string& why, bool exited);
  // Gives up this process: open questions fail, and another process is started.
  void down(std::string why);
  void close();
  std::vector<std::string> environment() const;

  net::Loop& loop_;
  process::Spawner& spawner_;
  HookCommand command_;
  HookDispatcher& owner_;
  std::unique_ptr<process::ChildProcess> child_;
  Pipe in_, out_, err_;
  LineSplitter lines_, stderr_lines_;
  net::Timer timer_;  // until the next start
  net::Timer last_words_;
  bool exited_ = false, out_ended_ = false;
  std::chrono::milliseconds pause_{0};
  std::chrono::milliseconds started_at_{0};
  std::chrono::milliseconds stderr_second_{0};
  uint64_t stderr_budget_ = 0;
  uint64_t stderr_dropped_ = 0;
  std::string broken_;
  std::string last_stderr_, exit_text_;
  uint64_t restarts_ = 0;
  int rubbish_ = 0;  // consecutive invalid lines
  net::Lifetime lifetime_;
};

}  // namespace lineward::plugins
