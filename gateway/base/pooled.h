// Memory for objects of one class that come and go with every call: what one gives back the next one takes.
// Some are kept for each thread; more go back to the C library, so that a flood leaves nothing behind.
//
// class Thing : public Pooled<Thing> { … };
#pragma once

#include <array>
#include <cstddef>
#include <new>

#include "base/sanitized.h"

namespace lineward {

template <class T>
class Pooled {
 public:
  static void* operator new(size_t size) {
    Kept& kept = kept_;
    if (size == sizeof(T) && kept.count > 0) return kept.blocks[--kept.count];
    return ::operator new(size);
  }
  static void operator delete(void* memory, size_t size) {
    Kept& kept = kept_;
    if (size == sizeof(T) && kept.count < kMost) {
      kept.blocks[kept.count++] = memory;
      return;
    }
    ::operator delete(memory);
  }

 private:
  // A block that is used after its end must be found out.
  static constexpr size_t kMost = kAddressSanitizer || kThreadSanitizer ? 0 : 64;
  struct Kept {
    std::array<void*, kMost + 1> blocks{};
    size_t count = 0;
    ~Kept() {
      while (count > 0)
        ::operator delete(blocks[--count]);
      count = kMost;  // what dies after this thread's own objects is not kept
    }
  };
  static inline thread_local Kept kept_;
};

}  // namespace lineward
