// Stops calls to a server that failed several times in a row (docs/limits.md). Closed: calls are sent. Open:
// calls are refused at once. After the open time one call is the half-open probe: its success closes the
// circuit, its failure opens it again.
//
// The upstream decides what counts as a failure. A server that cannot be reached, started or connected to
// counts, and so does the exit of its process. Answers and cancels never count. No clock of its own; one
// thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "config/config.h"
#include "proxy/core/upstream.h"

namespace lineward::upstream {

class CircuitBreaker {
 public:
  using milliseconds = std::chrono::milliseconds;

  explicit CircuitBreaker(const config::CircuitBreaker& limits) : limits_(limits) {}

  bool closed() const { return !open_; }
  // Time until a half-open probe may be made; 0: now.
  milliseconds wait(milliseconds now) const { return open_ && now < until_ ? until_ - now : milliseconds(0); }
  // For a call while it is open: true makes it the half-open probe, which must end in failed(), close(),
  // close_doubting() or withdrawn().
  bool try_now(milliseconds now) {
    if (!open_) return true;
    if (probing_ || now < until_) return false;
    probing_ = true;
    return true;
  }
  // The half-open probe ended without a verdict (its caller cancelled): the next call may try.
  void withdrawn() { probing_ = false; }

  // An answer arrived. An answer to a request sent before it opened does not close it.
  void succeeded() { failures_ = 0; }
  // It is open, and the open time ended at `then` or before.
  bool was_over(milliseconds then) const { return open_ && then >= until_; }
  // The server is proven to be back; true if it was open.
  bool close() {
    failures_ = 0;
    probing_ = false;
    return std::exchange(open_, false);
  }
  // The server runs, but has not done any work yet: the next failure opens it again. True if it was open.
  bool close_doubting() {
    if (!open_) return false;
    close();
    failures_ = limits_.consecutive_failures - 1;
    return true;
  }
  // True if this failure opened it, or opened it again.
  bool failed(milliseconds now, std::string why) {
    if (limits_.consecutive_failures == 0) return false;
    why_ = std::move(why);
    if (open_) {
      // Several failures within one open time count as one.
      if (now < until_) return false;
    } else if (++failures_ < limits_.consecutive_failures) {
      return false;
    }
    open_ = true;
    probing_ = false;
    until_ = now + limits_.open_for;
    return true;
  }
  // The last failure, as a text for clients.
  const std::string& why() const { return why_; }
  uint32_t failures() const { return failures_; }
  // Logs that it has opened, or closed again.
  void tell(const std::string& server) const;
  // The failure of a refused call.
  core::Failure refusal(const std::string& server, milliseconds now) const;

 private:
  const config::CircuitBreaker& limits_;
  uint32_t failures_ = 0;  // in a row
  milliseconds until_{0};
  std::string why_;
  bool open_ = false;
  bool probing_ = false;  // a half-open probe is in progress
};

// Whether a failure with this reason counts.
inline bool counts_for_circuit(mcp::EndReason reason) {
  return mcp::has(reason, mcp::kServerDown);
}

}  // namespace lineward::upstream
