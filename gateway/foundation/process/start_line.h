// Queues the commands that Lineward starts without a waiting call, so that hundreds of servers in one file do
// not start at the same moment. None is refused. A command that a caller waits for is not queued here.
//
// Each Spawner has one. A Turn belongs to the object that starts the command, and leaves the queue with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

namespace lineward::process {

class StartLine {
 public:
  enum class Order : bool { first, last };

  class Turn {
   public:
    Turn() = default;
    ~Turn() { leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // `begin` is called when the turn has come: from here, or from another one's leave(). The turn lasts
    // until leave(). `first`: before those with Order::last.
    void take(StartLine& line, Order order, std::function<void()> begin) {
      if (line_ != nullptr) return;
      line_ = &line;
      begin_ = std::move(begin);
      line.waiting(order).push_back(this);
      line.next();
    }
    bool waits() const { return line_ != nullptr && !held_; }
    bool is_held() const { return held_; }
    void leave() {
      if (line_ == nullptr) return;
      StartLine& line = *std::exchange(line_, nullptr);
      begin_ = nullptr;
      if (!std::exchange(held_, false)) return line.remove(*this);
      --line.taken_;
      line.next();
    }

   private:
    friend class StartLine;
    StartLine* line_ = nullptr;
    bool held_ = false;
    std::function<void()> begin_;
  };

  size_t waiting() const { return first_.size() + last_.size(); }

 private:
  // In parallel: each starting process needs a processor.
  static constexpr size_t kAtOnce = 16;

  std::deque<Turn*>& waiting(Order order) { return order == Order::first ? first_ : last_; }
  void remove(Turn& turn) {
    std::erase(first_, &turn);
    std::erase(last_, &turn);
  }
  void next() {
    while (taken_ < kAtOnce && waiting() > 0) {
      std::deque<Turn*>& from = first_.empty() ? last_ : first_;
      Turn* turn = from.front();
      from.pop_front();
      ++taken_;
      turn->held_ = true;
      // The turn may be over, and its owner gone, when this returns.
      if (auto begin = std::exchange(turn->begin_, nullptr)) begin();
    }
  }

  std::deque<Turn*> first_, last_;
  size_t taken_ = 0;
};

}  // namespace lineward::process
