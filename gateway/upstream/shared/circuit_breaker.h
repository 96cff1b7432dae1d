// Leaves a server alone that failed several times in a row (docs/limits.md). Closed: calls go on. Open: they
// are refused at once. When that time is over, one call is the half-open probe: its success closes the
// circuit, its failure opens it for as long again.
//
// What counts as a failure is decided by its upstream: that the server could not be reached, started or
// connected to, or that its process ended; never what it answered, and never a caller that went away. No
// clock of its own; one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "config/config.h"
#include "core/upstream.h"

namespace lineward::upstream {

class CircuitBreaker {
 public:
  using milliseconds = std::chrono::milliseconds;

  explicit CircuitBreaker(const config::CircuitBreaker& limits) : limits_(limits) {}

  bool closed() const { return !open_; }
  // Until a half-open probe may be made; 0: now.
  milliseconds wait(milliseconds now) const { return open_ && now < until_ ? until_ - now : milliseconds(0); }
  // For one that found it open: true makes it the half-open probe, which has to end in failed(), in close()
  // or close_doubting(), or in withdrawn().
  bool try_now(milliseconds now) {
    if (!open_) return true;
    if (probing_ || now < until_) return false;
    probing_ = true;
    return true;
  }
  // The half-open probe came to no verdict (its caller went away): the next one may try.
  void withdrawn() { probing_ = false; }

  // An answer came. Of answers that were asked for before it opened, none closes it.
  void succeeded() { failures_ = 0; }
  // It is open, and was to be left alone until then or before.
  bool was_over(milliseconds then) const { return open_ && then >= until_; }
  // There is proof that the server is back; true when it was open.
  bool close() {
    failures_ = 0;
    probing_ = false;
    return std::exchange(open_, false);
  }
  // The server is there, but has done no work yet: the next failure opens it again. True when it was open.
  bool close_doubting() {
    if (!open_) return false;
    close();
    failures_ = limits_.consecutive_failures - 1;
    return true;
  }
  // True when this has opened it, or opened it again.
  bool failed(milliseconds now, std::string why) {
    if (limits_.consecutive_failures == 0) return false;
    why_ = std::move(why);
    if (open_) {
      // Several that fail together have failed once.
      if (now < until_) return false;
    } else if (++failures_ < limits_.consecutive_failures) {
      return false;
    }
    open_ = true;
    probing_ = false;
    until_ = now + limits_.open_for;
    return true;
  }
  // The last failure, in words for clients.
  const std::string& why() const { return why_; }
  uint32_t failures() const { return failures_; }
  // To the log: it has opened, or closed again.
  void tell(const std::string& server) const;
  // What a call gets that is refused.
  core::Failure refusal(const std::string& server, milliseconds now) const;

 private:
  const config::CircuitBreaker& limits_;
  uint32_t failures_ = 0;  // in a row
  milliseconds until_{0};
  std::string why_;
  bool open_ = false;
  bool probing_ = false;  // one is under way
};

// What a failure has to be of to count.
inline bool counts_for_circuit(mcp::EndReason reason) {
  switch (reason) {
    case mcp::EndReason::upstream_unreachable:
    case mcp::EndReason::upstream_exited:
    case mcp::EndReason::timeout_connect:
    case mcp::EndReason::timeout_startup: return true;
    default: return false;
  }
}

}  // namespace lineward::upstream
