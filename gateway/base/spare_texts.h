// Memory of texts that come and go with every call (what is made of messages and heads), as Pooled keeps that
// of objects: what one gives back the next one takes. Few and small ones are kept for each thread. All are
// of the usual size at least, so nothing that lasts should live in one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/pooled.h"

namespace lineward {

template <size_t most>
class SpareTextsOf {
 public:
  static constexpr size_t kUsual = 1000;  // bytes of room
  static constexpr size_t kMaxBytes = 4 * kUsual;

  // An empty one with room for `size` bytes.
  static std::string take(size_t size) {
    std::string text;
    if (Kept& kept = kept_; size <= kMaxBytes && kept.count > 0 && kept.count <= most)
      text = std::move(kept.texts[--kept.count]);
    text.reserve(std::max(size, kUsual));
    return text;
  }
  // Room for an empty one, where it has none yet.
  static void renew(std::string& text, size_t size) {
    if (text.capacity() < size) text = take(size);
  }
  // It is empty afterwards.
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
    ~Kept() { count = most + 1; }  // after this thread's own objects nothing is kept, nor taken
  };
  static inline thread_local Kept kept_;
};

// Each call that is under way has several.
using SpareTexts = SpareTextsOf<kPooled * 4>;

}  // namespace lineward
