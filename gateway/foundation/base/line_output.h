// Writes lines to a destination that may accept a part or nothing: a pipe without a reader, a full disk. A
// truncated line stays a line of its own: the next one begins with a line break, so that two never merge.
// Keeps no text: rejected lines are lost and counted.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace lineward {

class LineOutput {
 public:
  // `text` is lines with their breaks, and is modified. `write` gets pieces of at most `most` bytes, of whole
  // lines where one fits, so that other writers' lines do not interleave. It returns the number of bytes
  // accepted; 0 or less stops. The result is the number of lines not written whole.
  template <class Write>
  uint64_t put(std::string& text, size_t most, Write&& write) {
    const uint64_t count = breaks(text);
    if (is_within_line_) text.insert(0, 1, '\n');
    size_t at = 0;
    while (at < text.size()) {
      const ssize_t taken = write(std::string_view(text).substr(at, piece(text, at, most)));
      if (taken <= 0) break;
      at += static_cast<size_t>(taken);
    }
    if (at > 0) is_within_line_ = text[at - 1] != '\n';
    return std::min(breaks(std::string_view(text).substr(at)), count);  // the break in front is not a line
  }
  // Later output goes to another destination.
  void begin_anew() { is_within_line_ = false; }

 private:
  static uint64_t breaks(std::string_view text) {
    uint64_t count = 0;
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
      ++count;
    return count;
  }
  static size_t piece(std::string_view text, size_t at, size_t most) {
    if (text.size() - at <= most) return text.size() - at;
    const size_t end = text.substr(at, most).rfind('\n');
    return end == std::string_view::npos ? most : end + 1;
  }

  bool is_within_line_ = false;  // the last accepted byte did not end a line
};

}  // namespace lineward
