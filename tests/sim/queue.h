// A first-in, first-out queue for use in large numbers: a connection has six, mostly empty, and the initial
// memory of std::deque was a large part of a world.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lineward::sim {

template <class T>
class Queue {
 public:
  bool empty() const { return first_ == items_.size(); }
  T& front() { return items_[first_]; }
  void push_back(T item) { items_.push_back(std::move(item)); }
  void pop_front() {
    ++first_;
    if (empty()) return clear();
    // Removed items are freed before the queue is empty.
    if (first_ < 64 || first_ * 2 < items_.size()) return;
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }
  auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
  size_t first_ = 0;
};

}  // namespace lineward::sim
