// Lines out of a byte stream, split at any byte. '\n' ends a line; one '\r' before it is cut. Pure.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/held_bytes.h"

namespace lineward {

class LineSplitter {
 public:
  explicit LineSplitter(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_line(std::string) for every complete line. False when a line grew over the limit; then it is
  // lost.
  template <class F>
  bool feed(std::string_view bytes, F&& on_line) {
    while (!bytes.empty()) {
      const void* end = std::memchr(bytes.data(), '\n', bytes.size());
      size_t take = end ? static_cast<size_t>(static_cast<const char*>(end) - bytes.data()) : bytes.size();
      if (partial_.size() + take > max_bytes_) {
        partial_.clear();
        partial_.shrink_to_fit();
        held_.set(0);
        return false;
      }
      partial_.append(bytes.substr(0, take));
      held_.set(partial_.size());
      if (end == nullptr) return true;
      bytes.remove_prefix(take + 1);
      std::string line;
      line.swap(partial_);
      held_.set(0);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      on_line(std::move(line));
    }
    return true;
  }
  bool has_partial() const { return !partial_.empty(); }
  // What is there of an unfinished line; it is forgotten.
  std::string take_partial() {
    held_.set(0);
    return std::exchange(partial_, {});
  }

 private:
  size_t max_bytes_;
  std::string partial_;
  HeldBytes held_;
};

}  // namespace lineward
