// The terminal as a screen of its own: the alternate one, without a cursor, keys as they are pressed. What
// was there before comes back with the end of this, also when the process ends by a signal or a crash.
//
// One at a time in a process, on stdin and stdout.
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
  // stdin and stdout are terminals, and of a kind that can do it.
  static bool possible();

  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // Back to what was there before, and here again: for whoever stops the process for a while.
  void leave();
  void enter();

  struct Size {
    size_t columns = 80, rows = 24;
  };
  static Size size();
  // The bytes that show these lines, each already cut to the screen's width. Texts of others are made
  // harmless.
  static std::string picture(const std::vector<std::string>& lines);

 private:
  termios before_{};
  bool on_ = false;
  std::vector<std::pair<int, struct sigaction>> handlers_;
};

}  // namespace lineward::cli
