// The terminal in full-screen mode: alternate screen, no cursor, unbuffered keys. The destructor restores the
// terminal; so does a signal or crash that ends the process.
// Single instance per process, on stdin and stdout.
#pragma once

#include <signal.h>
#include <termios.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace lineward::cli {

class FullScreen {
 public:
  // stdin and stdout are capable terminals.
  static bool possible();

  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // Restores the terminal and enters again: for suspending the process.
  void leave();
  void enter();

  struct Size {
    size_t columns = 80, rows = 24;
  };
  static Size size();
  // The bytes that draw these lines, each already cut to the screen's width. Sanitizes the texts.
  static std::string picture(const std::vector<std::string>& lines);

 private:
  termios before_{};
  bool on_ = false;
  std::vector<std::pair<int, struct sigaction>> handlers_;
};

}  // namespace lineward::cli
