// Contiguous memory for the nodes of one map. Without it, each long-lived node would keep a page from being
// freed. Cancelled calls are remembered for seconds: after ten thousand cancels that would be most of the
// calls' memory. All slabs are freed when the map is empty. Per thread; outlives its map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "foundation/base/sanitized.h"

namespace lineward {

class Slabs {
 public:
  Slabs() = default;
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  // All nodes of one map have the same size.
  void* take(size_t size) {
    ++taken_;
    if (free_ == nullptr) grow(size);
    Node* node = free_;
    free_ = node->next;
    return node;
  }
  void give(void* memory) {
    free_ = ::new (memory) Node{free_};
    if (--taken_ > 0 || slabs_.size() < kKeep) return;
    free_ = nullptr;
    slabs_.clear();
    slabs_.shrink_to_fit();
  }
  size_t slabs() const { return slabs_.size(); }

 private:
  struct Node {
    Node* next;
  };
  static constexpr size_t kNodes = 16;  // of the first slab; each next slab is twice as large
  static constexpr size_t kMaxNodes = 1024;
  static constexpr size_t kKeep = 3;  // with fewer slabs, freeing is not worth it for a map that is often
                                      // empty

  void grow(size_t size) {
    const size_t count = std::min(kNodes << std::min<size_t>(slabs_.size(), 6), kMaxNodes);
    slabs_.push_back(std::make_unique<std::byte[]>(count * size));
    for (size_t i = count; i > 0; --i)
      free_ = ::new (slabs_.back().get() + (i - 1) * size) Node{free_};
  }

  std::vector<std::unique_ptr<std::byte[]>> slabs_;
  Node* free_ = nullptr;
  size_t taken_ = 0;
};

// The allocator of such a map. Under AddressSanitizer each node is allocated separately, so that a use after
// free is detected.
template <class T>
class SlabAllocator {
 public:
  using value_type = T;
  explicit SlabAllocator(Slabs& slabs) : slabs_(&slabs) {}
  template <class U>
  SlabAllocator(const SlabAllocator<U>& other) : slabs_(&other.slabs()) {}

  T* allocate(size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t) && sizeof(T) >= sizeof(void*));
    if (!kOneByOne && count == 1) return static_cast<T*>(slabs_->take(sizeof(T)));
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* node, size_t count) {
    if (!kOneByOne && count == 1) return slabs_->give(node);
    std::allocator<T>().deallocate(node, count);
  }
  Slabs& slabs() const { return *slabs_; }
  template <class U>
  bool operator==(const SlabAllocator<U>& other) const {
    return slabs_ == &other.slabs();
  }

 private:
  static constexpr bool kOneByOne = kAddressSanitizer;
  Slabs* slabs_;
};

}  // namespace lineward
