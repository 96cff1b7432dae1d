// All timers of a loop, with a resolution of 1 ms: starting and stopping take a few instructions for any
// number of timers. A hierarchy of wheels with 64 slots each. A timer is in the slot of the highest base-64
// digit in which its deadline differs from now. It moves down when that slot's time comes. Pure: knows no
// clock.
#pragma once

#include <array>
#include <cstdint>

namespace lineward::net {

class TimerWheel {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  // A link of a ring. A linked object must call stop() before it is destroyed.
  struct Link {
    Link* next = nullptr;
    Link* previous = nullptr;
  };
  struct Entry : Link {
    uint64_t deadline = 0;  // ms
    bool running() const { return next != nullptr; }
  };

  TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // `entry` must not be running.
  void start(Entry& entry, uint64_t deadline);
  static void stop(Entry& entry);

  // The earliest moment at which advance() may have work: never too late, sometimes too early.
  uint64_t next() const;
  bool advancing() const { return advancing_; }

  // Removes all timers due at `now` and calls fire(entry) for each: by deadline, then in order of start. fire
  // may start and stop any timer. A timer started by fire is due in a later call at the earliest, so that a
  // self-restarting timer of 0 ms does not block the loop.
  template <class F>
  void advance(uint64_t now, F&& fire) {
    if (advancing_) return;
    advancing_ = true;
    limit_ = now;
    while (collect(now)) {
      while (due_.next != &due_) {
        Entry& entry = static_cast<Entry&>(*due_.next);
        stop(entry);
        fire(entry);
      }
    }
    advancing_ = false;
    finish(now);
  }

 private:
  static constexpr unsigned kDigit = 6;  // bits
  static constexpr unsigned kSlots = 1u << kDigit;
  static constexpr unsigned kLevels = (64 + kDigit - 1) / kDigit;

  // Advances to the next slot not later than `now`; true if its timers are in due_.
  bool collect(uint64_t now);
  void finish(uint64_t now);
  void place(Entry& entry);

  std::array<std::array<Link, kSlots>, kLevels> slots_;
  std::array<uint64_t, kLevels> used_{};  // a bit for each slot that may have timers
  uint32_t levels_ = 0;                   // a bit for each level that may have timers
  uint64_t base_ = 0;                     // all slots before this moment are empty
  uint64_t limit_ = 0;
  Link due_;    // of the slot being processed
  Link later_;  // started during the processing, and due at once
  bool advancing_ = false;
};

}  // namespace lineward::net
