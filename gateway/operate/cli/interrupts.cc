#include "operate/cli/interrupts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace lineward::cli {
namespace {

volatile int told_to = -1;

extern "C" void lineward_cli_interrupted(int signal) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(signal);
  // A full pipe already wakes the reader.
  if (write(told_to, &byte, 1) < 0) errno = error;
  errno = error;
}

}  // namespace

Interrupts::Interrupts(std::initializer_list<int> signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  read_end_ = ends[0];
  write_end_ = ends[1];
  told_to = write_end_;
  struct sigaction action {};
  action.sa_handler = lineward_cli_interrupted;
  sigemptyset(&action.sa_mask);
  for (const int signal : signals) {
    struct sigaction old {};
    if (sigaction(signal, &action, &old) == 0) before_.emplace_back(signal, old);
  }
}

Interrupts::~Interrupts() {
  for (const auto& [signal, old] : before_)
    sigaction(signal, &old, nullptr);
  told_to = -1;
  if (read_end_ >= 0) close(read_end_);
  if (write_end_ >= 0) close(write_end_);
}

int Interrupts::next() const {
  unsigned char byte = 0;
  return read_end_ >= 0 && read(read_end_, &byte, 1) == 1 ? byte : 0;
}

}  // namespace lineward::cli
