// The body of one HTTP/2 stream on its way to the peer: what is queued, and whether its end is.
//
// Owned by the stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "foundation/base/memory_charge.h"
#include "foundation/net/piece_queue.h"

namespace lineward::http2 {

class BodyQueue {
 public:
  bool empty() const { return queue_.empty(); }
  size_t size() const { return size_; }
  void charge(const AccountPtr& account) { size_.charge(account); }
  void push(std::string piece) {
    if (piece.empty()) return;
    size_ += piece.size();
    queue_.push(std::move(piece));
  }
  void clear() {
    queue_.clear();
    size_ = gone_ = 0;
  }
  // Its stream is about to be reset: the bytes are not kept until then.
  void drop() {
    clear();
    complete = false;
  }
  // Copies at most `most` bytes, and forgets them.
  size_t take(uint8_t* to, size_t most) {
    size_t taken = 0;
    while (!queue_.empty() && taken < most) {
      const std::string& piece = queue_.front();
      const size_t part = std::min(piece.size() - gone_, most - taken);
      piece.copy(reinterpret_cast<char*>(to + taken), part, gone_);
      taken += part;
      gone_ += part;
      if (gone_ < piece.size()) break;
      queue_.pop();
      gone_ = 0;
    }
    size_ -= taken;
    return taken;
  }

  bool complete = false;  // nothing follows what is queued
  bool waits = false;     // the library has sent all, and waits for more

 private:
  net::PieceQueue queue_;
  size_t gone_ = 0;  // bytes of the first piece already sent
  HeldCount size_{Held::queues};
};

}  // namespace lineward::http2
