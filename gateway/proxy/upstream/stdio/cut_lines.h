// Splits a byte stream into lines for display, at any chunk boundary. A line beyond the limit is cut, and its
// rest skipped. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/base/memory_charge.h"

namespace lineward::upstream {

class CutLines {
 public:
  explicit CutLines(size_t longest) : longest_(longest) {}

  // Calls on_line(std::string) for each line, without its end. Returns the number of skipped bytes.
  template <class F>
  size_t feed(std::string_view bytes, F&& on_line) {
    return feed_some(bytes, SIZE_MAX, std::forward<F>(on_line));
  }
  // The same for at most `lines` lines; `bytes` is reduced to the unread rest.
  template <class F>
  size_t feed_some(std::string_view& bytes, size_t lines, F&& on_line) {
    size_t skipped = 0;
    for (; !bytes.empty() && lines > 0; --lines) {
      const size_t end = bytes.find('\n');
      std::string_view piece = bytes.substr(0, end);
      bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
      const size_t room = skips_ ? 0 : longest_ - partial_.size();
      partial_.append(piece.substr(0, room));
      skipped += piece.size() - std::min(piece.size(), room);
      if (!skips_ && (end != std::string_view::npos || piece.size() > room)) on_line(take_partial());
      skips_ = end == std::string_view::npos && (skips_ || piece.size() > room);
      held_.set(partial_.size());
    }
    return skipped;
  }
  bool has_partial() const { return !partial_.empty(); }
  // Removes and returns the start of an unfinished line.
  std::string take_partial() {
    held_.set(0);
    std::string line = std::exchange(partial_, {});
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
  }

 private:
  const size_t longest_;
  std::string partial_;
  bool skips_ = false;  // to the end of a line that was reported cut
  MemoryCharge held_{Held::servers};
};

}  // namespace lineward::upstream
