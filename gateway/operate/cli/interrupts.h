// Signals as pollable events: while this exists they only make fd() readable.
// Single instance per process. The destructor restores the previous handlers.
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
  // The next signal received; 0: none.
  int next() const;

 private:
  int read_end_ = -1, write_end_ = -1;
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace lineward::cli
