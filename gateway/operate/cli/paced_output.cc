#include "operate/cli/paced_output.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "foundation/log/sanitize.h"

namespace lineward::cli {

void PacedOutput::add(std::string_view text) {
  add_screen(terminal_text(text, Colours::ours));
}

void PacedOutput::add_screen(std::string_view bytes) {
  if (at_ == waiting_.size()) {
    waiting_.clear();
    at_ = 0;
  }
  waiting_ += bytes;
}

pollfd PacedOutput::wants() const {
  return {fd_, static_cast<short>(at_ < waiting_.size() ? POLLOUT : 0), 0};
}

void PacedOutput::advance(short found) {
  if ((found & (POLLERR | POLLHUP | POLLNVAL)) != 0) broken_ = true;
  if (broken_ || (found & POLLOUT) == 0 || at_ == waiting_.size()) return;
  // A writable pipe takes this much without blocking.
  const size_t piece = std::min<size_t>(waiting_.size() - at_, PIPE_BUF);
  const ssize_t n = write(fd_, waiting_.data() + at_, piece);
  if (n >= 0) at_ += static_cast<size_t>(n);
  if (n < 0 && errno != EAGAIN && errno != EINTR) broken_ = true;
}

void PacedOutput::finish(std::chrono::milliseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (!broken_ && at_ < waiting_.size()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd output = wants();
    if (left.count() <= 0 || poll(&output, 1, static_cast<int>(left.count())) == 0) return;
    advance(output.revents);
  }
}

}  // namespace lineward::cli
