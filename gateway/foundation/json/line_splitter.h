// Splits a byte stream into lines, for any chunking. '\n' ends a line; a '\r' before it is removed. Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "foundation/base/memory_charge.h"
#include "foundation/json/json_outline.h"

namespace lineward {

class LineSplitter {
 public:
  explicit LineSplitter(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_line for every complete line: with a std::string, or with a json::Text that has the outline of a
  // long one. False if a line exceeds the limit; the line is then lost.
  template <class F>
  bool feed(std::string_view bytes, F&& on_line) {
    return feed_some(bytes, SIZE_MAX, std::forward<F>(on_line));
  }
  // The same for at most `lines` lines: pass the rest of `bytes` again later.
  template <class F>
  bool feed_some(std::string_view& bytes, size_t lines, F&& on_line) {
    constexpr bool kOutlined = !std::is_invocable_v<F, std::string>;
    for (; !bytes.empty() && lines > 0; --lines) {
      const void* end = std::memchr(bytes.data(), '\n', bytes.size());
      size_t take = end ? static_cast<size_t>(static_cast<const char*>(end) - bytes.data()) : bytes.size();
      if (partial_.size() + take > max_bytes_) {
        partial_.clear();
        partial_.shrink_to_fit();
        held_.set(0);
        outline_.take();
        return false;
      }
      partial_.append(bytes.substr(0, take));
      held_.set(partial_.size());
      if constexpr (kOutlined) outline_.more(partial_);
      if (end == nullptr) {
        bytes = {};
        return true;
      }
      bytes.remove_prefix(take + 1);
      std::string line;
      line.swap(partial_);
      held_.set(0);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if constexpr (kOutlined) {
        on_line(json::Text{std::move(line), outline_.take()});
      } else {
        on_line(std::move(line));
      }
    }
    return true;
  }
  bool has_partial() const { return !partial_.empty(); }
  // Takes the unfinished line out of the splitter.
  std::string take_partial() {
    held_.set(0);
    outline_.take();
    return std::exchange(partial_, {});
  }

 private:
  size_t max_bytes_;
  std::string partial_;
  json::ArrivingOutline outline_;
  MemoryCharge held_{Held::bodies};
};

}  // namespace lineward
