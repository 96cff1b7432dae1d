#include "heap.h"

#include "huge_pages.h"
#include "sanitized.h"

#if !LINEWARD_SIM_SANITIZED

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace lineward::sim {
namespace {

// Address space; what is not touched takes no memory.
constexpr size_t kReserved = size_t{16} << 30;
// Pieces of one size lie together in a slab, which says at its beginning which size.
constexpr size_t kSlab = size_t{64} << 10, kHead = 64;
constexpr size_t kStep = 16, kLargest = 2048;
constexpr size_t kKinds = kLargest / kStep;

struct Piece {
  Piece* next;
};
struct Slab {
  size_t kind;
};

struct Heap {
  Piece* free[kKinds] = {};
  // The unused rest of the newest slab of each kind.
  char* fresh[kKinds] = {};
  char* fresh_end[kKinds] = {};
  char* begin = nullptr;
  char* next_slab = nullptr;
  char* end = nullptr;
};
constinit Heap heap;
constinit std::atomic<Piece*> given_back{nullptr};  // by threads that are not the one that runs
constinit thread_local bool runs = false;

bool is_ours(const void* piece) {
  return static_cast<size_t>(static_cast<const char*>(piece) - heap.begin) <
         static_cast<size_t>(heap.end - heap.begin);
}

size_t kind_of(const void* piece) {
  return reinterpret_cast<const Slab*>(reinterpret_cast<uintptr_t>(piece) & ~(kSlab - 1))->kind;
}

// Before the first world has a second thread.
void reserve() {
  void* reserved =
      mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) std::abort();
  const uintptr_t from = (reinterpret_cast<uintptr_t>(reserved) + kHugePage - 1) & ~(kHugePage - 1);
  heap.begin = heap.next_slab = reinterpret_cast<char*>(from);
  heap.end = heap.begin + kReserved - kHugePage;
  madvise(heap.begin, kReserved - kHugePage, MADV_HUGEPAGE);
}

[[gnu::noinline]] void* more(size_t kind) {
  for (Piece* piece = given_back.exchange(nullptr, std::memory_order_acquire); piece;) {
    Piece* next = piece->next;
    Piece*& its = heap.free[kind_of(piece)];
    piece->next = its;
    its = piece;
    piece = next;
  }
  if (Piece* piece = heap.free[kind]) {
    heap.free[kind] = piece->next;
    return piece;
  }
  const size_t size = (kind + 1) * kStep;
  if (heap.fresh[kind] == nullptr || heap.fresh[kind] + size > heap.fresh_end[kind]) {
    if (heap.next_slab >= heap.end) throw std::bad_alloc();
    char* slab = heap.next_slab;
    heap.next_slab += kSlab;
    reinterpret_cast<Slab*>(slab)->kind = kind;
    heap.fresh[kind] = slab + kHead;
    heap.fresh_end[kind] = slab + kSlab;
  }
  void* piece = heap.fresh[kind];
  heap.fresh[kind] += size;
  return piece;
}

void* from_malloc(size_t size) {
  if (void* piece = std::malloc(size)) return piece;
  throw std::bad_alloc();
}

inline void* take(size_t size) {
  if (!runs || size - 1 >= kLargest) [[unlikely]]
    return from_malloc(size == 0 ? 1 : size);
  const size_t kind = (size - 1) / kStep;
  if (Piece* piece = heap.free[kind]) {
    heap.free[kind] = piece->next;
    return piece;
  }
  return more(kind);
}

inline void give(void* piece, size_t kind_or_none) {
  if (!is_ours(piece)) return std::free(piece);
  auto* its = static_cast<Piece*>(piece);
  if (runs) [[likely]] {
    Piece*& list = heap.free[kind_or_none < kKinds ? kind_or_none : kind_of(piece)];
    its->next = list;
    list = its;
    return;
  }
  its->next = given_back.load(std::memory_order_relaxed);
  while (!given_back.compare_exchange_weak(its->next, its, std::memory_order_release)) {
  }
}

}  // namespace

void enters_heap() {
  if (!heap.begin) reserve();
  runs = true;
}
void leaves_heap() {
  runs = false;
}

}  // namespace lineward::sim

using lineward::sim::give;
using lineward::sim::take;

void* operator new(size_t size) {
  return take(size);
}
void* operator new[](size_t size) {
  return take(size);
}
void operator delete(void* piece) noexcept {
  give(piece, SIZE_MAX);
}
void operator delete[](void* piece) noexcept {
  give(piece, SIZE_MAX);
}
void operator delete(void* piece, size_t size) noexcept {
  give(piece, (size - 1) / lineward::sim::kStep);
}
void operator delete[](void* piece, size_t size) noexcept {
  give(piece, (size - 1) / lineward::sim::kStep);
}

#else

namespace lineward::sim {
void enters_heap() {}
void leaves_heap() {}
}  // namespace lineward::sim

#endif
