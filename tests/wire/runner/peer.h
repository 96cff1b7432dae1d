// The common part of all peers. A peer walks a block of commands on its own thread, expands ${…}, knows its
// local values (call, resp, event …) and does the common verbs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run.h"

namespace lineward::wire {

class Peer {
 public:
  Peer(Run& run, std::string name) : run_(run), name_(std::move(name)) {}
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Throws Failure or Stopped.
  void run_block(const Block& block);

 protected:
  virtual void execute(const Command& command) = 0;

  std::string expand(const Word& word) const;
  std::string arg(const Command& command, size_t index) const { return expand(command.args[index]); }
  std::string arg(const Command& command, size_t index, std::string_view otherwise) const;
  std::string option(const Command& command, std::string_view name, std::string_view otherwise = "") const;
  int number(const Command& command, size_t index) const;

  std::optional<Value> resolve(const std::string& path) const;
  void set_local(const std::string& name, Value value) { locals_[name] = std::move(value); }
  void clear_locals(const std::string& prefix);

  Clock::time_point deadline() const;
  int line() const { return line_; }
  [[noreturn]] void fail(const std::string& text) const { throw Failure(line_, text); }
  void check_stopped() const {
    if (run_.stopped()) throw Stopped{};
  }

  Run& run_;
  std::string name_;

 private:
  bool execute_common(const Command& command);
  void expect(const Command& command);

  std::map<std::string, Value> locals_;
  std::vector<Clock::time_point> deadlines_;
  Clock::time_point mark_ = Clock::now();
  int line_ = 0;
};

std::string from_hex(const std::string& hex, int line);

// The verdict of `expect`: nothing when it holds, else what came.
std::optional<std::string> compare(const std::optional<Value>& left, const std::string& op,
                                   const std::string& right, bool right_is_text);

}  // namespace lineward::wire
