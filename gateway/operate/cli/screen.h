// The output of commands: stdout or stderr, possibly a terminal. All text passes through terminal_text
// (foundation/log/sanitize.h), so that files, servers and clients cannot control the terminal.
#pragma once

#include <ostream>
#include <string_view>

#include "foundation/log/sanitize.h"

namespace lineward::cli {

class Screen {
 public:
  explicit Screen(std::ostream& stream) : stream_(stream) {}

  Screen& operator<<(std::string_view text) {
    stream_ << terminal_text(text, Colours::ours);
    return *this;
  }
  // Writes unchanged bytes: terminal control sequences made here, a tool's output to a pipe or file, a
  // requested file. Never foreign text to a terminal.
  void verbatim(std::string_view bytes) { stream_ << bytes; }
  void flush() { stream_.flush(); }
  bool is(const std::ostream& stream) const { return &stream_ == &stream; }

 private:
  std::ostream& stream_;
};

}  // namespace lineward::cli
