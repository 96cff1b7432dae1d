// A limit that several workers share: at most so many slots are taken at any time, by whichever workers.
// While slots are free, taking or returning one is an atomic operation, and no worker waits for another. When
// all slots are taken, workers that need one wait in a queue. A freed slot goes to the first of them through
// its mailbox. While no other worker has waited for long, a freed slot stays with the worker that freed it,
// which is cheaper.
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
  // Slots that were handed over to a part, and not used yet, count too.
  uint32_t taken() const { return taken_.load(); }

 private:
  // A part's entry in the queue. Messages on their way to the part share it, because the part may be gone
  // when they arrive.
  struct Line {
    explicit Line(std::shared_ptr<net::Mailbox> its_mailbox, Part* its_part)
        : mailbox(std::move(its_mailbox)), part(its_part) {}
    const std::shared_ptr<net::Mailbox> mailbox;
    Part* part;                                   // null: gone. Used on its own thread
    bool waits = false;                           // under the mutex, like all below
    std::chrono::steady_clock::time_point since;  // when it began to wait
  };

  bool try_take(uint32_t most);
  // More slots are taken than the limit allows: a freed slot is not handed over.
  bool is_over() const { return taken_.load() > most_.load(); }
  // False: `line` waits from now on. True: a slot is free again.
  bool wait(const std::shared_ptr<Line>& line, uint32_t most);
  void leave(const std::shared_ptr<Line>& line);
  // True: `line` has left the queue, and keeps the slot that it was about to return.
  bool keeps(const std::shared_ptr<Line>& line);
  static void give(const std::shared_ptr<SharedSlots>& slots);
  // Hands a slot to the first worker that waits; false: no worker waits.
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

  // False: `most` slots are taken, and the part waits in the queue until `granted` or stop_waiting().
  bool take(uint32_t most);
  // Takes a slot even beyond the limit, for a call that cannot be refused any more.
  void take_anyway() { slots_->taken_.fetch_add(1); }
  void give();
  // The limit has changed.
  void limit(uint32_t most) { slots_->most_.store(most); }
  // No call of this part needs a slot any more: a slot that was handed over goes to the next part.
  void stop_waiting();
  uint32_t taken_by_all() const { return slots_->taken(); }

 private:
  friend class SharedSlots;
  void on_granted();

  const std::shared_ptr<SharedSlots> slots_;
  const std::shared_ptr<Line> line_;
  const std::function<void()> granted_;
  uint32_t handed_over_ = 0;  // slots of this part that are not used yet
  bool may_wait_ = false;     // in the queue, as far as this thread knows
};

}  // namespace lineward::upstream
