// The gateway under test: one process, its two output streams read by a thread, and what a script asks of it.
// Owned by the interpreter; used from the script's own thread only.
#pragma once

#include <sys/types.h>

#include <thread>
#include <utility>
#include <vector>

#include "peer.h"
#include "process.h"

namespace lineward::wire {

// How to start the gateway: Lineward by default, any other by a template (its words may name ${port},
// ${command},
// ${program}, ${args}, ${conf}).
struct GatewayProgram {
  std::string path;
  std::vector<std::string> extra_args;
  std::string command_template;
};

class Gateway {
 public:
  // `conf` is the finished text of the file or empty; `upstream` the command line to put behind.
  struct Setup {
    std::vector<std::string> args, upstream;
    std::string conf;
    bool stdio = false;         // `lineward stdio` instead of `lineward run`
    bool keep_workers = false;  // LINEWARD_WORKERS does not reach it
  };

  Gateway(Run& run, std::string name, const GatewayProgram& program);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Throw std::runtime_error with a sentence when it does not happen in time.
  void start(const Setup& setup);
  void signal(const std::string& name);
  // Writes the configuration file anew, sends SIGHUP and waits for the gateway's word on it.
  void reload(const std::string& conf, Clock::time_point deadline);
  int wait_exit(Clock::time_point deadline);  // the exit code, 128 + signal when killed
  void expect_log(const std::string& regex, int count,
                  Clock::time_point deadline);  // count < 0: at least one
  void no_log(const std::string& regex);

  // -stdio: the other ends of its stdin and stdout; the caller closes them. Once.
  std::pair<int, int> take_stdio();
  bool running() const { return child_.pid > 0 && !exited_; }
  std::string complaint();  // a sanitizer's or an assertion's words on its output, else empty

 private:
  void read_loop();
  bool poll_exit();
  int count_lines(const std::string& regex);
  void wait_ready(const Setup& setup);
  void note_listeners();
  std::string address_of(const std::string& option, const std::string& title, const Setup& setup,
                         Clock::time_point deadline);

  Run& run_;
  std::string name_;
  const GatewayProgram& program_;
  Child child_;
  std::pair<int, int> stdio_{-1, -1};
  std::string address_;  // known before the start only with a template
  bool over_tls_ = false, over_http2_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  bool exited_ = false, closed_ = false;
  int status_ = 0;
  std::thread reader_;
};

std::vector<std::string> split_words(const std::string& text);

}  // namespace lineward::wire
