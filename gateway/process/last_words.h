// What a process said last on stderr that tells why it ends. Often not the last line: Node writes its version
// behind the error, npm the name of a log file, and both a stack in between. So of the last lines the one
// that reads like an error is kept; of several the later one; without one the last line.
//
// Bounded: two lines, cut. Pure, but for what is redacted (log/excerpt.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lineward::net {

class LastWords {
 public:
  static constexpr size_t kLongest = 500;
  // An error further back than that has been lived through.
  static constexpr size_t kWindow = 30;

  // Without its line end; one that has nothing to read is left out.
  void add(std::string_view line);
  const std::string& text() const { return rank_ > 0 ? telling_ : last_; }

 private:
  std::string last_, telling_;
  int rank_ = 0;  // how much the telling one reads like an error; 0: there is none
  size_t since_ = 0;
};

}  // namespace lineward::net
