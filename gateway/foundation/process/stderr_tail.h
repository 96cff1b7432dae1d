// The last line on stderr that explains the end of a process. Often not the very last line: Node writes its
// version after the error, npm the name of a log file, and both a stack in between. So the last line that
// looks like an error is kept, within a window; without one, the last line.
//
// Bounded: two lines, truncated. Pure, except for redaction (foundation/log/excerpt.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lineward::process {

class StderrTail {
 public:
  static constexpr size_t kLongest = 500;
  // An error further back than this is ignored: the process survived it.
  static constexpr size_t kWindow = 30;

  // `line`: without its line end; a line without readable text is skipped.
  void add(std::string_view line);
  const std::string& text() const { return rank_ > 0 ? telling_ : last_; }

 private:
  std::string last_, telling_;
  int rank_ = 0;  // how much `telling_` looks like an error; 0: there is none
  size_t since_ = 0;
};

}  // namespace lineward::process
