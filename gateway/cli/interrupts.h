// Signals as something to wait for: while this lives they do nothing but make fd() readable.
//
// One at a time in a process. The handlers that were there before come back with its end.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace lineward::cli {

class Interrupts {
 public:
  explicit Interrupts(std::initializer_list<int> signals);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int fd() const { return read_end_; }
  // The next that has come; 0: none.
  int next() const;

 private:
  int read_end_ = -1, write_end_ = -1;
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace lineward::cli
