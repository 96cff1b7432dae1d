// A stdio MCP server played by the script. Upstream listens on a Unix socket for the stubs that the gateway
// starts. Each of them is an Instance: a reader thread (handshakes, automatic answers) and a thread that runs
// its block. The latter begins once the process proves to be a real one and not the era probe's.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <memory>
#include <thread>

#include "peer.h"
#include "process.h"

namespace lineward::wire {

class Upstream;

class Instance : public Peer {
 public:
  Instance(Run& run, Upstream& upstream, int fd);
  ~Instance() override;

  bool done() const { return done_; }
  int number() const { return number_; }
  void hang_up();  // the stub ends by that

 private:
  struct Event {
    enum class Kind { line, input_end, signal, gone } kind;
    std::string text;
  };

  // reader thread
  void read_loop();
  void on_frame(const Frame& frame);
  void on_line(std::string line);
  bool answer_by_itself(const std::string& line, const std::string& method, const std::string& id);
  void become_real();
  void push(Event event);

  // block thread
  void block_loop();
  void after_block();
  void execute(const Command& command) override;
  bool execute_send(const Command& command);
  Event next(Clock::time_point deadline, std::string_view waiting_for, bool skip_signals = true);
  std::string next_line(std::string_view waiting_for);
  void keep(const Command& command, const std::string& as, const std::string& line);
  std::string id_of(const Command& command) const;
  void recv_cancel(const Command& command);
  void expect_killed();
  void await_gone();

  void order(FrameKind kind, std::string_view payload = {}, bool wait = true);
  void say(std::string_view json);  // one message on stdout

  Upstream& upstream_;
  int fd_;
  pid_t pid_ = -1;
  std::string frames_, input_;  // incomplete frame, incomplete line
  const Block* block_ = nullptr;
  std::mutex mutex_, write_mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  unsigned long ordered_ = 0, carried_out_ = 0;
  bool gone_ = false, stays_ = false;
  std::atomic<bool> done_{false};
  std::atomic<int> number_{0};  // 0: not a real one (yet)
  std::thread reader_, worker_;
};

enum class PlayedEra { modern, legacy, raw };

class Upstream {
 public:
  Upstream(Run& run, const Command& command, const std::string& runner);
  ~Upstream();

  void wait();  // until all its blocks are done; throws Failure, Stopped
  void end();   // hangs up everywhere and joins
  const Command& command() const { return command_; }

  PlayedEra era() const { return era_; }
  const Block* claim(int& number);  // the next real instance's number and block
  bool automatic(const std::string& method) const { return !named_.count(method); }
  const std::string& auto_results() const { return auto_; }
  std::string discover_result() const;
  std::string initialize_result(const std::string& asked) const;

 private:
  void accept_loop();
  void collect(const Block& block);

  Run& run_;
  const Command& command_;
  std::string name_, auto_, discover_, initialize_;
  PlayedEra era_ = PlayedEra::modern;
  int listener_ = -1;
  Block first_;
  std::map<int, const Command*> blocks_;  // by instance number
  const Command* other_ = nullptr;        // instance *
  std::map<std::string, bool> named_;     // methods that the blocks ask for by name
  std::mutex mutex_;
  int real_ = 0, processes_ = 0;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::atomic<bool> ended_{false};
  std::thread acceptor_;
};

}  // namespace lineward::wire
