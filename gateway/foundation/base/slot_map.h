// A slot map: objects owned by value-stable slots, named by {index, generation}. A reference that may outlive
// the object is kept as an id and looked up after every wait; a stale id finds nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lineward {

template <class Tag>
struct SlotId {
  uint32_t index = 0;
  uint32_t generation = 0;  // 0 is "no object"
  explicit operator bool() const { return generation != 0; }
  bool operator==(const SlotId&) const = default;
  auto operator<=>(const SlotId&) const = default;
};

template <class T, class Tag = T>
class SlotMap {
 public:
  using Id = SlotId<Tag>;

  // Reserves an id first, so that an object knows its id when it is constructed; fill it with put().
  Id reserve() {
    if (free_.empty()) {
      slots_.push_back({});
      free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    }
    uint32_t index = free_.back();
    free_.pop_back();
    return {index, slots_[index].generation};
  }
  T& put(Id id, std::unique_ptr<T> object) {
    slots_[id.index].object = std::move(object);
    ++size_;
    return *slots_[id.index].object;
  }
  T* find(Id id) const {
    if (!id || id.index >= slots_.size() || slots_[id.index].generation != id.generation) return nullptr;
    return slots_[id.index].object.get();
  }
  // Takes the object out; its id is stale afterwards.
  std::unique_ptr<T> take(Id id) {
    if (!find(id)) return nullptr;
    Slot& slot = slots_[id.index];
    if (++slot.generation == 0) slot.generation = 1;
    free_.push_back(id.index);
    --size_;
    return std::move(slot.object);
  }
  size_t size() const { return size_; }
  template <class F>
  void for_each(F&& visit) const {
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].object) visit(Id{i, slots_[i].generation}, *slots_[i].object);
    }
  }

 private:
  struct Slot {
    uint32_t generation = 1;
    std::unique_ptr<T> object;
  };
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  size_t size_ = 0;
};

}  // namespace lineward
