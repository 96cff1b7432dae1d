// Splits a client's byte stream into lines, at any byte. A line over the limit is reported once, with its
// beginning, and discarded to its end; the next line is read normally. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/base/memory_charge.h"

namespace lineward::client {

class LineReader {
 public:
  explicit LineReader(size_t max_bytes) : max_bytes_(max_bytes) {}

  // on_line(std::string) for each complete line, without its end ("\n" or "\r\n");
  // too_long(std::string_view). Reads at most `lines` lines: the rest of `bytes` is returned.
  template <class OnLine, class TooLong>
  std::string_view feed(std::string_view bytes, OnLine&& on_line, TooLong&& too_long,
                        size_t lines = SIZE_MAX) {
    for (; !bytes.empty() && lines > 0; --lines) {
      const void* end = std::memchr(bytes.data(), '\n', bytes.size());
      size_t take = end ? static_cast<size_t>(static_cast<const char*>(end) - bytes.data()) : bytes.size();
      if (!discarding_) {
        size_t room = max_bytes_ - partial_.size();
        partial_.append(bytes.substr(0, std::min(take, room)));
        held_.set(partial_.size());
        if (take > room) {
          discarding_ = true;
          std::string beginning = take_partial();
          too_long(std::string_view(beginning));
        }
      }
      if (end == nullptr) return {};
      bytes.remove_prefix(take + 1);
      if (std::exchange(discarding_, false)) continue;
      std::string line = take_partial();
      if (!line.empty() && line.back() == '\r') line.pop_back();
      on_line(std::move(line));
    }
    return bytes;
  }
  // Takes a last line without an end.
  std::string take_partial() {
    held_.set(0);
    return std::exchange(partial_, {});
  }

 private:
  size_t max_bytes_;
  std::string partial_;
  bool discarding_ = false;
  MemoryCharge held_{Held::bodies};
};

}  // namespace lineward::client
