// A number of places that several workers fill together: at most so many are taken at any time, whichever
// workers have them. While there is room, taking and giving back one is an atomic operation, and no worker
// waits for another. When all are taken, workers that want one wait in line. A free place goes to the first
// of them by its mailbox. It stays with its own worker, which is cheaper, while no other part waits for long.
//
// A SharedSlots::Part is used on its worker's thread only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "foundation/net/mailbox.h"

namespace lineward::upstream {

class SharedSlots {
 public:
  class Part;

  SharedSlots() = default;
  SharedSlots(const SharedSlots&) = delete;
  SharedSlots& operator=(const SharedSlots&) = delete;
  // With those handed over to a part that has not used them yet.
  uint32_t taken() const { return taken_.load(); }

 private:
  // Shared with messages on their way to the part, which may be gone when they arrive.
  struct Line {
    explicit Line(std::shared_ptr<net::Mailbox> its_mailbox, Part* its_part)
        : mailbox(std::move(its_mailbox)), part(its_part) {}
    const std::shared_ptr<net::Mailbox> mailbox;
    Part* part;                                   // null: gone. Used on its own thread
    bool waits = false;                           // under the mutex, like all below
    std::chrono::steady_clock::time_point since;  // it waits
  };

  bool try_take(uint32_t most);
  // More are taken than there are: a free place is not given away.
  bool is_over() const { return taken_.load() > most_.load(); }
  // False: it waits from now on. True: there is room again.
  bool wait(const std::shared_ptr<Line>& line, uint32_t most);
  void leave(const std::shared_ptr<Line>& line);
  // True: `line` has left the queue, and keeps a place that it would give back.
  bool keeps(const std::shared_ptr<Line>& line);
  static void give(const std::shared_ptr<SharedSlots>& slots);
  // Hands a place to the first worker that waits; false: none does.
  static bool hand_over(const std::shared_ptr<SharedSlots>& slots);
  std::shared_ptr<Line> next();

  std::atomic<uint32_t> taken_{0};
  std::atomic<uint32_t> waiting_{0};  // lines in the queue
  std::atomic<uint32_t> most_{0};     // as the last caller of take() knew it
  std::mutex mutex_;
  std::deque<std::shared_ptr<Line>> queue_;
};

class SharedSlots::Part {
 public:
  // `granted` is called from the loop when a worker that waits may call take() again.
  Part(std::shared_ptr<SharedSlots> slots, std::shared_ptr<net::Mailbox> mailbox,
       std::function<void()> granted);
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // False: `most` are taken. The part waits in line then, until `granted` or stop_waiting().
  bool take(uint32_t most);
  // Beyond the limit, for what cannot be refused any more.
  void take_anyway() { slots_->taken_.fetch_add(1); }
  void give();
  // The limit has changed.
  void limit(uint32_t most) { slots_->most_.store(most); }
  // No call of this part wants a place now: one that was handed over goes to the next part.
  void stop_waiting();
  uint32_t taken_by_all() const { return slots_->taken(); }

 private:
  friend class SharedSlots;
  void on_granted();

  const std::shared_ptr<SharedSlots> slots_;
  const std::shared_ptr<Line> line_;
  const std::function<void()> granted_;
  uint32_t handed_over_ = 0;  // places of this part that are not used yet
  bool may_wait_ = false;     // in line, as far as this thread knows
};

}  // namespace lineward::upstream
