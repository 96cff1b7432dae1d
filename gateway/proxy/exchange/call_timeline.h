// The timestamped steps of one call, to diagnose why it hangs or how it ended (docs/admin-api.md).
//
// A value of a fixed size in each exchange, and in the slots of ended calls. It allocates nothing, and a mark
// costs one store. Repetitions of a step are one mark with a count. When there are too many marks the first
// and the last ones are kept, and the rest is counted.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace lineward::exchange {

enum class CallStep : uint8_t {
  arrived,       // its request has arrived completely
  judging,       // policies decide on it
  judged,        // policies have decided
  routed,        // an aggregate has routed it to a member
  queued,        // waits for a free place
  at_capacity,   // waits for a process
  starting,      // waits for its server to start
  sent,          // its server has it
  repeated,      // the request is sent to its server again
  progress,      // a progress notification
  told,          // another notification, or one of a listen
  acknowledged,  // a listen: change notifications begin
  asked,         // the server sends the client a request
  answered,      // the client has answered
  held,          // the client reads too slowly: reading from the server is paused
  released,      // the client has read what was buffered
  answer,        // the server's answer
  cancelling,    // it is cancelled; the server is notified if it has the request
  ended,         // its answer has been handed to the client's stream
  settled,       // the outcome of its cancel is known
  count_
};

constexpr std::string_view name(CallStep step) {
  constexpr std::array<std::string_view, static_cast<size_t>(CallStep::count_)> kNames{
      "arrived", "judging",  "judged",   "routed",     "queued",       "at_capacity", "starting",
      "sent",    "repeated", "progress", "told",       "acknowledged", "asked",       "answered",
      "held",    "released", "answer",   "cancelling", "ended",        "settled"};
  return kNames[static_cast<size_t>(step)];
}

class CallTimeline {
 public:
  using milliseconds = std::chrono::milliseconds;
  struct Mark {
    uint32_t at_ms;    // since the call's arrival
    uint32_t last_ms;  // of repetitions: the last one
    uint32_t times;
    CallStep step;
  };
  static constexpr size_t kFirst = 8, kLast = 8;

  // Unused slots are never read and need no initialisation: most calls have five marks.
  CallTimeline() {}  // NOLINT(modernize-use-equals-default): that would clear them
  CallTimeline(const CallTimeline& other) { *this = other; }
  CallTimeline& operator=(const CallTimeline& other) {
    count_ = other.count_;
    std::copy_n(other.marks_.begin(), size(), marks_.begin());
    return *this;
  }

  void note(CallStep step, milliseconds since_arrival) {
    const uint32_t at = clamped(since_arrival);
    if (count_ > 0) {
      Mark& last = at_place(count_ - 1);
      if (last.step == step) {
        last.last_ms = at;
        ++last.times;
        return;
      }
    }
    at_place(count_++) = {at, at, 1, step};
  }

  size_t size() const { return count_ < kFirst + kLast ? count_ : kFirst + kLast; }
  // The oldest first.
  const Mark& operator[](size_t index) const {
    if (count_ <= kFirst + kLast || index < kFirst) return marks_[index];
    return marks_[kFirst + (count_ - kLast + index - 2 * kFirst) % kLast];
  }
  // Marks that were dropped between the first and the last ones.
  uint64_t left_out() const { return count_ - size(); }
  void clear() { count_ = 0; }

 private:
  static uint32_t clamped(milliseconds time) {
    constexpr auto kMost = std::numeric_limits<uint32_t>::max();
    return time.count() < 0 ? 0 : time.count() > int64_t{kMost} ? kMost : static_cast<uint32_t>(time.count());
  }
  Mark& at_place(uint64_t number) {
    return marks_[number < kFirst ? number : kFirst + (number - kFirst) % kLast];
  }

  std::array<Mark, kFirst + kLast> marks_;
  uint64_t count_ = 0;
};

}  // namespace lineward::exchange
