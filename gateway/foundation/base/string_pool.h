// A pool of string buffers for texts created for every call (messages, heads); the counterpart of Pooled for
// strings. Each thread keeps a few small buffers. Every buffer has at least the usual capacity: do not store
// long-lived text in one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "foundation/base/pooled.h"

namespace lineward {

template <size_t most>
class StringPoolOf {
 public:
  static constexpr size_t kUsual = 1000;  // bytes of capacity
  static constexpr size_t kMaxBytes = 4 * kUsual;

  // An empty text with capacity for `size` bytes.
  static std::string take(size_t size) {
    std::string text;
    if (Kept& kept = kept_; size <= kMaxBytes && kept.count > 0 && kept.count <= most)
      text = std::move(kept.texts[--kept.count]);
    text.reserve(std::max(size, kUsual));
    return text;
  }
  // Gives an empty text a buffer, unless it has one.
  static void renew(std::string& text, size_t size) {
    if (text.capacity() < size) text = take(size);
  }
  // `text` is empty afterwards.
  static void give(std::string&& text) {
    Kept& kept = kept_;
    if (kept.count < most && text.capacity() >= kUsual && text.capacity() <= kMaxBytes) {
      text.clear();
      kept.texts[kept.count++].swap(text);
    } else {
      std::string().swap(text);
    }
  }

 private:
  struct Kept {
    std::array<std::string, most + 1> texts;
    size_t count = 0;
    ~Kept() { count = most + 1; }  // after this thread's own objects end, nothing is kept or taken
  };
  static inline thread_local Kept kept_;
};

// Each call under way uses several.
using StringPool = StringPoolOf<kPooled * 4>;

}  // namespace lineward
