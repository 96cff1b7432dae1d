// Where the commands print: stdout or stderr, a terminal perhaps. Whatever is printed comes out of
// terminal_text (log/printable.h), so nothing of files, servers and clients steers the terminal.
#pragma once

#include <ostream>
#include <string_view>

#include "log/printable.h"

namespace lineward::cli {

class Screen {
 public:
  explicit Screen(std::ostream& stream) : stream_(stream) {}

  Screen& operator<<(std::string_view text) {
    stream_ << terminal_text(text, Colours::ours);
    return *this;
  }
  // As it is, byte by byte: what moves the cursor of a terminal, and what a tool said into a pipe or a file,
  // a file that was asked for. Never what others said onto a terminal.
  void verbatim(std::string_view bytes) { stream_ << bytes; }
  void flush() { stream_.flush(); }
  bool is(const std::ostream& stream) const { return &stream_ == &stream; }

 private:
  std::ostream& stream_;
};

}  // namespace lineward::cli
