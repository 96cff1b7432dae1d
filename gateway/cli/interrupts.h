// Signals as something to wait for: while this lives they do nothing but make fd() readable.
//
// One at a time in a process. The handlers that were there before come back with its end.
// SIGINT and SIGTERM as something to wait for: while one of these lives, they end nothing by themselves.
// For commands of one thread.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace lineward::cli {

class Interrupts {
 public:
  explicit Interrupts(std::initializer_list<int> signals);
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int fd() const { return read_end_; }
  // The next that has come; 0: none.
  int next() const;

 private:
  int read_end_ = -1, write_end_ = -1;
  std::vector<std::pair<int, struct sigaction>> before_;
  // Readable when one has come that nobody has taken; -1 where the system has no such descriptor.
  int descriptor() const { return fd_; }
  // The signal that has come, once; 0: none.
  int take();
  int fd_ = -1;
  sigset_t before_;
};

}  // namespace lineward::cli
