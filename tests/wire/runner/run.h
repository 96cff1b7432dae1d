// A run of a script: the state that all peers' threads share. Names and values, barriers, the deadline, the
// record of everything that happened, and the first failure. Owned by main; outlives every peer.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "script.h"

namespace lineward::wire {

using Clock = std::chrono::steady_clock;

// A value by name: `json` ones are compared by meaning and can be walked into, others are bytes.
struct Value {
  std::string text;
  bool json = false;
};

// An error and its line. Thrown by verbs, caught at the bottom of each peer's thread.
struct Failure : std::runtime_error {
  Failure(int at, const std::string& text) : std::runtime_error(text), line(at) {}
  int line;
};

// Thrown through a peer's verbs when another peer has failed already, or the script is over.
struct Stopped {};

class Run {
 public:
  Run(const Script& script, std::string runner);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Script& script() const { return script_; }
  const std::string& tmp() const { return tmp_; }
  const std::string& tag() const { return tag_; }
  Clock::time_point deadline() const { return deadline_; }

  // The record, in the order of time. `direction` is '<' (came to the peer), '>' (sent by it) or ' '.
  void record(std::string_view peer, char direction, std::string_view bytes);
  std::string transcript();

  void fail(int line, const std::string& text);  // the first one counts
  bool failed() const { return failed_; }
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  void finish() { finished_ = true; }  // all blocks are done: what still arrives is no failure
  bool finished() const { return finished_ || stopped_; }
  int failure_line() const { return failure_line_; }
  std::string failure_text();

  // Now and then a peer is late, as on a busy machine: at most so long before each of its steps, and before
  // it takes what has come.
  void set_jitter(std::chrono::milliseconds most) { jitter_ = most; }
  void be_late() const;

  void set(const std::string& name, Value value);
  std::optional<Value> get(const std::string& name);

  // Waits for the others; false when the deadline came first. Throws Stopped.
  bool sync(const std::string& barrier, Clock::time_point deadline);
  std::string missing_at(const std::string& barrier);
  void set_barrier(const std::string& name, int parties);

 private:
  struct Barrier {
    int parties = 0, waiting = 0;
    unsigned long round = 0;
  };
  void count_barriers(const Block& block, bool is_peer);

  const Script& script_;
  std::string tmp_, tag_;
  std::chrono::milliseconds jitter_{0};
  Clock::time_point start_ = Clock::now(), deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string record_, failure_text_;
  int failure_line_ = 0;
  std::atomic<bool> failed_{false}, stopped_{false}, finished_{false};
  std::map<std::string, Value> values_;
  std::map<std::string, Barrier> barriers_;
};

std::string printable(std::string_view bytes, size_t limit = 1500);

}  // namespace lineward::wire
