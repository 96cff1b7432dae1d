// Stops calls to a server that failed several times in a row (docs/limits.md). Closed: calls are sent. Open:
// calls are refused at once. After the open time one call is the half-open probe: its success closes the
// circuit, its failure opens it again.
//
// The upstream decides what counts as a failure. A server that cannot be reached, started or connected to
// counts, and so does the exit of its process. Answers and cancels never count. No clock of its own.
//
// Several workers that serve one server share its state: any thread. While the circuit is closed and nothing
// fails, no call takes the lock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "config/config.h"
#include "proxy/core/upstream.h"

namespace lineward::upstream {

class CircuitBreaker {
 public:
  using milliseconds = std::chrono::milliseconds;
  class State {
   public:
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;

   private:
    friend class CircuitBreaker;
    std::atomic<bool> open{false};
    std::atomic<uint32_t> failures{0};  // in a row
    mutable std::mutex mutex;           // of all below, and of changes of `open`
    milliseconds until{0};
    std::string why;
    bool probing = false;  // a half-open probe is in progress
  };

  explicit CircuitBreaker(const config::CircuitBreaker& limits)
      : CircuitBreaker(limits, std::make_shared<State>()) {}
  // `limits`: this worker's copy; `state`: shared with others.
  CircuitBreaker(const config::CircuitBreaker& limits, std::shared_ptr<State> state)
      : limits_(limits), state_(std::move(state)) {}

  bool closed() const { return !state_->open.load(std::memory_order_relaxed); }
  // Time until a half-open probe may be made; 0: now.
  milliseconds wait(milliseconds now) const;
  // For a call while the circuit is open: true makes the call the half-open probe, which must end in
  // failed(), close(), close_doubting() or withdrawn().
  bool try_now(milliseconds now);
  // The half-open probe ended without a verdict (its caller cancelled): the next call may try.
  void withdrawn();

  // An answer arrived. An answer to a request that was sent before the circuit opened does not close the
  // circuit.
  void succeeded() {
    if (failures() != 0) state_->failures.store(0, std::memory_order_relaxed);
  }
  // Whether the circuit is open, and its open time ended at `then` or before.
  bool was_over(milliseconds then) const;
  // The server is proven to be up again. True if the circuit was open.
  bool close();
  // The server runs, but has not done any work yet: the next failure opens the circuit again. True if the
  // circuit was open.
  bool close_doubting();
  // True if this failure opened the circuit, or opened it again.
  bool failed(milliseconds now, std::string why);
  // The last failure, as a text for clients.
  std::string why() const;
  uint32_t failures() const { return state_->failures.load(std::memory_order_relaxed); }
  // Logs that the circuit has opened, or closed again.
  void tell(const std::string& server) const;
  // The failure of a refused call.
  core::Failure refusal(const std::string& server, milliseconds now) const;

 private:
  bool close(uint32_t failures);

  const config::CircuitBreaker& limits_;
  const std::shared_ptr<State> state_;
};

// Whether a failure with this reason counts.
inline bool counts_for_circuit(mcp::EndReason reason) {
  return mcp::has(reason, mcp::kServerDown);
}

}  // namespace lineward::upstream
