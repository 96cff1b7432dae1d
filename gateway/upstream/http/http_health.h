// What the ends of its calls say about an HTTP server: feeds its circuit breaker and asks it whether a call
// may be made (docs/limits.md). Whatever the server says proves that it is there; what its caller or Lineward
// decided proves nothing.
//
// Owned by an HttpUpstream. Every call ends in one of answered(), failed() and probe_withdrawn(). Calls
// nobody back; what changes goes to the log.
#pragma once

#include "net/loop.h"
#include "upstream/shared/circuit_breaker.h"

namespace lineward::upstream {

class HttpHealth {
 public:
  HttpHealth(net::Loop& loop, const config::Server& server)
      : loop_(loop), server_(server), breaker_(server.circuit_breaker) {}

  // Whether a call may be made: true makes it the half-open probe, which shows whether the server is back;
  // the failure says that the circuit is open.
  Result<bool, core::Failure> admit();
  void answered();
  // `probe`: what admit() said of it.
  void failed(const core::Failure& failure, bool probe);
  // The probe came to no verdict.
  void probe_withdrawn() { breaker_.withdrawn(); }
  // Something else than a call has shown that the server is back.
  void is_back();
  // What fails from here on is our own doing.
  void stop() { stopping_ = true; }

  bool circuit_closed() const { return breaker_.closed(); }
  // How long the circuit stays open; 0: a probe may be made.
  std::chrono::milliseconds open_for() const { return breaker_.wait(loop_.now()); }
  // The last failure, in words for clients.
  const std::string& why() const { return breaker_.why(); }

 private:
  net::Loop& loop_;
  const config::Server& server_;
  CircuitBreaker breaker_;
  bool stopping_ = false;
};

}  // namespace lineward::upstream
