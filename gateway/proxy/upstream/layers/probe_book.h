// The streams of `lineward/probe` (protocol/mcp/probe.h): how many are open, and for a while how each ended.
// The process has one book, since the request that asks may come to another worker than the stream.
//
// Bounded: so many streams at once, of all and of one caller, so many outcomes that are remembered, and for
// so long. Locked; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/memory_charge.h"
#include "foundation/base/result.h"
#include "protocol/mcp/end_reason.h"

namespace lineward::upstream {

struct ProbeOutcome {
  enum class State : uint8_t {
    running,
    completed,  // its result was written
    left,       // its client left
    ended       // something else ended it: `reason`
  };
  State state = State::running;
  mcp::EndReason reason = mcp::EndReason::ok;
  std::chrono::nanoseconds began{0}, ended{0};  // as Loop::nanoseconds()
  uint32_t arrivals = 1;                        // of the request that opens it: a proxy may send it twice
};

class ProbeBook {
 public:
  static constexpr size_t kStreams = 16;         // at once
  static constexpr size_t kStreamsOfCaller = 6;  // of these
  // Open ones too; the oldest that has ended goes first, of this caller where it has so many itself.
  static constexpr size_t kRemembered = 64;
  static constexpr size_t kRememberedOfCaller = 16;
  static constexpr std::chrono::seconds kLife{60};

  ProbeBook() = default;
  ProbeBook(const ProbeBook&) = delete;
  ProbeBook& operator=(const ProbeBook&) = delete;
  static ProbeBook& of_process();

  // The principal that may ask for the outcome, and the share of the streams that it counts in. Both are kept
  // while the stream is remembered.
  struct Caller {
    std::string principal;
    std::string share;
  };
  // The error is a sentence for the client. A nonce that is there already is counted as one more arrival.
  Status<> begin(const Caller& caller, const std::string& nonce, std::chrono::nanoseconds now);
  // Does nothing if the stream was forgotten.
  void end(const Caller& caller, std::string_view nonce, ProbeOutcome::State state, mcp::EndReason reason,
           std::chrono::nanoseconds now);
  // Another principal's is as unknown as none.
  std::optional<ProbeOutcome> find(std::string_view principal, std::string_view nonce,
                                   std::chrono::nanoseconds now);

 private:
  struct Entry {
    Caller caller;
    std::string nonce;
    ProbeOutcome outcome;
  };
  Entry* entry(std::string_view principal, std::string_view nonce);
  void forget_old(std::chrono::nanoseconds now);
  void make_room(const Caller& caller);
  void note_held();

  std::mutex mutex_;
  std::deque<Entry> entries_;  // the oldest first
  MemoryCharge held_{Held::calls};
};

}  // namespace lineward::upstream
