// A list of objects in order of insertion. The links are in the objects: insertion does not allocate, and
// removal does not search.
#pragma once

#include <cstddef>
#include <vector>

namespace lineward {

// T has members `IntrusiveList<T>* list`, `T* previous` and `T* next`, owned by the list. An object leaves
// before it is freed, and before its list is destroyed.
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
  // Removes the object from its list, if it is in one.
  static void leave(T& object) {
    if (object.list != nullptr) object.list->remove(object);
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The only match; null if none or several match.
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
  // Visits the oldest first. No object may leave during the visit.
  template <class Look>
  void each(Look&& look) const {
    for (T* object = first_; object != nullptr; object = object->next)
      look(*object);
  }
  // A copy, for visits during which objects may leave.
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
