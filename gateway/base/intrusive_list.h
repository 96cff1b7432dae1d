// Objects of one owner or one group, in the order in which they came: threaded through the objects
// themselves, so that standing in it costs no allocation, and leaving it no search, however many there are.
#pragma once

#include <cstddef>
#include <vector>

namespace lineward {

// T has members `IntrusiveList<T>* list`, `T* previous` and `T* next`, which belong to the list it stands in.
// An object leaves before it is freed, and before its list is.
template <class T>
class IntrusiveList {
 public:
  void add(T& object) {
    object.list = this;
    object.previous = last_;
    object.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &object;
    last_ = &object;
    ++size_;
  }
  // Out of the list that it stands in, if any.
  static void leave(T& object) {
    if (object.list != nullptr) object.list->remove(object);
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The only one that fits; null when none does, or several do.
  template <class Fits>
  T* only(Fits&& fits) const {
    T* found = nullptr;
    for (T* object = first_; object != nullptr; object = object->next) {
      if (!fits(*object)) continue;
      if (found != nullptr) return nullptr;
      found = object;
    }
    return found;
  }
  template <class Fits>
  bool any(Fits&& fits) const {
    for (const T* object = first_; object != nullptr; object = object->next) {
      if (fits(*object)) return true;
    }
    return false;
  }
  // The oldest first. No object leaves meanwhile.
  template <class Look>
  void each(Look&& look) const {
    for (T* object = first_; object != nullptr; object = object->next)
      look(*object);
  }
  // A copy, for those whose objects leave while it is walked.
  std::vector<T*> all() const {
    std::vector<T*> out;
    out.reserve(size_);
    for (T* object = first_; object != nullptr; object = object->next)
      out.push_back(object);
    return out;
  }

 private:
  void remove(T& object) {
    (object.previous != nullptr ? object.previous->next : first_) = object.next;
    (object.next != nullptr ? object.next->previous : last_) = object.previous;
    object.list = nullptr;
    object.previous = object.next = nullptr;
    --size_;
  }

  T* first_ = nullptr;
  T* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace lineward
