// Output to a descriptor that may be slow or lose its reader: written in non-blocking pieces. Callers bound
// the queue by checking full(). Foreign text is passed through terminal_text (foundation/log/sanitize.h).
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
  // The same for text with terminal control sequences made here; foreign text in it is already terminal_text.
  void add_screen(std::string_view bytes);
  bool empty() const { return at_ == waiting_.size(); }
  // The queue is long: add nothing more.
  bool full() const { return waiting_.size() - at_ >= kFull; }
  // For poll(), which also reports a closed reader.
  pollfd wants() const;
  // Call it after poll(), with the events found.
  void advance(short found);
  // The reader has closed.
  bool broken() const { return broken_; }
  // Waits until everything is written, for at most `most`.
  void finish(std::chrono::milliseconds most);

 private:
  static constexpr size_t kFull = 256 * 1024;

  const int fd_;
  std::string waiting_;
  size_t at_ = 0;  // bytes before it are written
  bool broken_ = false;
};

}  // namespace lineward::cli
