#include "foundation/net/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace lineward::net {
namespace {

using Link = TimerWheel::Link;

void clear(Link& ring) {
  ring.next = ring.previous = &ring;
}

void append(Link& ring, Link& link) {
  link.previous = ring.previous;
  link.next = &ring;
  ring.previous->next = &link;
  ring.previous = &link;
}

// Appends all of `from`, in order, to `to`.
void move_all(Link& from, Link& to) {
  if (from.next == &from) return;
  from.next->previous = to.previous;
  to.previous->next = from.next;
  from.previous->next = &to;
  to.previous = from.previous;
  clear(from);
}

}  // namespace

TimerWheel::TimerWheel() {
  for (auto& level : slots_) {
    for (Link& slot : level)
      clear(slot);
  }
  clear(due_);
  clear(later_);
}

void TimerWheel::start(Entry& entry, uint64_t deadline) {
  entry.deadline = deadline;
  if (advancing_ && deadline <= limit_) return append(later_, entry);
  place(entry);
}

void TimerWheel::place(Entry& entry) {
  // Overdue timers go to the current slot.
  const uint64_t at = std::max(entry.deadline, base_);
  const uint64_t differ = at ^ base_;
  const unsigned level = differ == 0 ? 0 : (63u - static_cast<unsigned>(std::countl_zero(differ))) / kDigit;
  const unsigned slot = static_cast<unsigned>(at >> (level * kDigit)) % kSlots;
  append(slots_[level][slot], entry);
  used_[level] |= uint64_t{1} << slot;
  levels_ |= 1u << level;
}

// The slot's bit stays set: that costs one check when its time comes.
void TimerWheel::stop(Entry& entry) {
  if (!entry.running()) return;
  entry.previous->next = entry.next;
  entry.next->previous = entry.previous;
  entry.next = entry.previous = nullptr;
}

// Timers of one level differ from now in that digit and in none above it, so the lowest level comes first.
uint64_t TimerWheel::next() const {
  if (levels_ == 0) return kNever;
  const unsigned level = static_cast<unsigned>(std::countr_zero(levels_));
  const unsigned shift = level * kDigit;
  const uint64_t slot = static_cast<uint64_t>(std::countr_zero(used_[level]));
  const uint64_t above = shift + kDigit < 64 ? base_ >> (shift + kDigit) << (shift + kDigit) : 0;
  return above | slot << shift;
}

bool TimerWheel::collect(uint64_t now) {
  for (;;) {
    const uint64_t at = next();
    if (at > now || levels_ == 0) return false;
    const unsigned level = static_cast<unsigned>(std::countr_zero(levels_));
    const unsigned slot = static_cast<unsigned>(std::countr_zero(used_[level]));
    base_ = std::max(base_, at);
    used_[level] &= used_[level] - 1;
    if (used_[level] == 0) levels_ &= levels_ - 1;
    move_all(slots_[level][slot], due_);
    if (level == 0) return true;
    while (due_.next != &due_) {
      Entry& entry = static_cast<Entry&>(*due_.next);
      stop(entry);
      place(entry);
    }
  }
}

void TimerWheel::finish(uint64_t now) {
  base_ = std::max(base_, now);
  while (later_.next != &later_) {
    Entry& entry = static_cast<Entry&>(*later_.next);
    stop(entry);
    place(entry);
  }
}

}  // namespace lineward::net
