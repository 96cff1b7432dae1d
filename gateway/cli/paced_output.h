// What is written to a descriptor that may be slow, or whose reader may go: it is given in pieces that do not
// block, and what waits is bounded by whoever looks at full(). What others wrote comes out of terminal_text
// (log/printable.h).
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <string_view>

namespace lineward::cli {

class PacedOutput {
 public:
  explicit PacedOutput(int fd) : fd_(fd) {}

  void add(std::string_view text);
  // The same of what was put together here and steers the terminal; texts of others in it are terminal_text
  // already.
  void add_screen(std::string_view bytes);
  bool empty() const { return at_ == waiting_.size(); }
  // So much waits that nothing should be added.
  bool full() const { return waiting_.size() - at_ >= kFull; }
  // For poll(), which also tells when nobody reads any more.
  pollfd wants() const;
  // After poll(), with what it has found.
  void advance(short found);
  // Nobody reads any more.
  bool broken() const { return broken_; }
  // Waits until all is written, for so long at most.
  void finish(std::chrono::milliseconds most);

 private:
  static constexpr size_t kFull = 256 * 1024;

  const int fd_;
  std::string waiting_;
  size_t at_ = 0;  // what stands before was written
  bool broken_ = false;
};

}  // namespace lineward::cli
