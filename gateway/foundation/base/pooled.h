// A free list for objects of one class that are created for every call. Each thread keeps a few blocks; the
// rest go back to the C library, so that a burst leaves no memory behind.
//
// class Thing : public Pooled<Thing> { … };
#pragma once

#include <array>
#include <cstddef>
#include <new>

#include "foundation/base/sanitized.h"

namespace lineward {

// None under sanitizers: a block used after its end must be detected.
inline constexpr size_t kPooled = kAddressSanitizer || kThreadSanitizer ? 0 : 64;

template <class T, size_t most = kPooled>
class Pooled {
 public:
  static void* operator new(size_t size) {
    Kept& kept = kept_;
    if (size == sizeof(T) && kept.count > 0 && kept.count <= most) return kept.blocks[--kept.count];
    return ::operator new(size);
  }
  static void operator delete(void* memory, size_t size) {
    Kept& kept = kept_;
    if (size == sizeof(T) && kept.count < most) {
      kept.blocks[kept.count++] = memory;
      return;
    }
    ::operator delete(memory);
  }

 private:
  struct Kept {
    std::array<void*, most + 1> blocks{};
    size_t count = 0;
    ~Kept() {
      while (count > 0)
        ::operator delete(blocks[--count]);
      count = most + 1;  // after this thread's own objects end, nothing is kept or taken
    }
  };
  static inline thread_local Kept kept_;
};

}  // namespace lineward
