// Commands that Lineward starts of its own accord, before anybody calls: they wait their turn, so that
// hundreds of servers in one file do not start at the same moment. None is refused. A command that a caller
// waits for does not stand here.
//
// One for each Spawner. A Turn belongs to whoever wants to start something, and leaves the line with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

namespace lineward::net {

class StartLine {
 public:
  enum class Order : bool { first, last };

  class Turn {
   public:
    Turn() = default;
    ~Turn() { leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // `begin` is called when the turn has come: from here, or from where another one leaves. It lasts until
    // leave(). `first`: before those that come last.
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
  // At the same time: processes that start want a processor each.
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
      // The turn may be over, and its owner gone, when this comes back.
      if (auto begin = std::exchange(turn->begin_, nullptr)) begin();
    }
  }

  std::deque<Turn*> first_, last_;
  size_t taken_ = 0;
};

}  // namespace lineward::net
