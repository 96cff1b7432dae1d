// A queue of byte pieces to send. A std::deque allocates 600 bytes before its first piece; most streams of
// most gateways are idle.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/string_pool.h"

namespace lineward::net {

class PieceQueue {
 public:
  bool empty() const { return first_ == pieces_.size(); }
  std::string& front() { return pieces_[first_]; }
  // A small piece goes into the room of the one before it: one buffer for several events.
  void push(std::string piece) {
    if (empty() || !has_room(pieces_.back(), piece.size())) return pieces_.push_back(std::move(piece));
    pieces_.back() += piece;
    StringPool::give(std::move(piece));
  }
  std::string pop() {
    std::string piece = std::move(pieces_[first_]);
    if (++first_ == pieces_.size()) {
      clear();
    } else if (first_ >= kCompact && first_ > pieces_.size() / 2) {
      // The rest is the smaller part, so each piece is moved once on average.
      pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return piece;
  }
  // Keeps the capacity for the few pieces of an ordinary response.
  void clear() {
    if (pieces_.capacity() > kKeep) {
      std::vector<std::string>().swap(pieces_);
    } else {
      pieces_.clear();
    }
    first_ = 0;
  }
  auto begin() { return pieces_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() { return pieces_.end(); }

 private:
  static bool has_room(const std::string& last, size_t bytes) {
    return bytes <= kSmall && last.capacity() >= StringPool::kUsual && last.capacity() - last.size() >= bytes;
  }

  static constexpr size_t kSmall = StringPool::kUsual / 2;
  static constexpr size_t kKeep = 4;
  static constexpr size_t kCompact = 64;
  std::vector<std::string> pieces_;
  size_t first_ = 0;
};

}  // namespace lineward::net
