// All timers of a loop, to the millisecond: starting and stopping one costs a few instructions, however many
// there are. A hierarchy of wheels with 64 slots each; a timer stands in the slot of the highest digit (to
// base 64) in which its deadline differs from now, and moves down when that slot's time has come. Pure: knows
// no clock.
#pragma once

#include <array>
#include <cstdint>

namespace lineward::net {

class TimerWheel {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  // A place in a ring. Whoever is in one must stop() before it dies.
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

  // The first moment at which advance() may have something to do: never too late, sometimes too early.
  uint64_t next() const;
  bool advancing() const { return advancing_; }

  // Takes out all that is due at `now` and calls fire(entry) for each: by deadline, then in the order they
  // were started. fire may start and stop any. What it starts is due in a later call at the earliest, so that
  // a timer of 0 ms that restarts itself does not hold the loop.
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

  // Moves on to the next slot that is not later than `now`; true when its timers are in due_.
  bool collect(uint64_t now);
  void finish(uint64_t now);
  void place(Entry& entry);

  std::array<std::array<Link, kSlots>, kLevels> slots_;
  std::array<uint64_t, kLevels> used_{};  // a bit for each slot that may hold something
  uint32_t levels_ = 0;                   // a bit for each level that may
  uint64_t base_ = 0;                     // all slots before this moment are empty
  uint64_t limit_ = 0;
  Link due_;    // of the slot being worked on
  Link later_;  // started by those, and due at once
  bool advancing_ = false;
};

}  // namespace lineward::net
