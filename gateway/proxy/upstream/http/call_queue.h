// The calls that wait for their group's session, in order: callers take turns. Plain pointers: a call is
// withdrawn before it is freed.
#pragma once

#include <deque>
#include <utility>

#include "proxy/upstream/shared/caller_shares.h"

namespace lineward::upstream {

template <class Call>
class CallQueue {
 public:
  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }
  // Null if the queue is empty.
  Call* first() const { return calls_.empty() ? nullptr : calls_.front(); }
  void join(Call& call) { join_by_turn(calls_, call); }
  // Puts a call first: it was tried, and must be sent before all others.
  void put_back(Call& call) { calls_.push_front(&call); }
  void take_first() { calls_.pop_front(); }
  void withdraw(Call& call) { std::erase(calls_, &call); }
  std::deque<Call*> take_all() { return std::exchange(calls_, {}); }
  // A copy, for callers that remove calls while iterating.
  std::deque<Call*> all() const { return calls_; }
  template <class Fits>
  bool any(Fits&& fits) const {
    for (const Call* call : calls_) {
      if (fits(*call)) return true;
    }
    return false;
  }

 private:
  std::deque<Call*> calls_;
};

}  // namespace lineward::upstream
