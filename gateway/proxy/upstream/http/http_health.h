// The meaning of the end of a request to an HTTP server: HttpFailures for its caller, HttpHealth for the
// server.
//
// Owned by an HttpUpstream. Every call ends in exactly one of answered(), failed() and probe_withdrawn(). No
// callbacks; changes are logged.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http/http_messages.h"
#include "proxy/upstream/shared/circuit_breaker.h"
#include "proxy/upstream/shared/shared_server.h"

namespace lineward::upstream {

// Maps the end of an HTTP request without an answer to a failure for the caller (behaviour.md 11). Depends
// only on the server and on whether the credentials are the gateway's or the client's; stateless otherwise.
class HttpFailures {
 public:
  // The owner of the credentials sent to the server: only the owner can fix a refusal.
  enum class Credentials : uint8_t { of_gateway, of_clients };

  explicit HttpFailures(const config::Server& server) : server_(server) {}
  void set_credentials(Credentials whose) { credentials_ = whose; }
  bool are_of_clients() const { return credentials_ == Credentials::of_clients; }

  core::Failure of(const MessagesEnd& end) const;

 private:
  const config::Server& server_;
  Credentials credentials_ = Credentials::of_gateway;
};

// Feeds an HTTP server's circuit breaker with the ends of its calls, and decides whether a call may be made
// (docs/limits.md). Any message of the server proves that it is there; ends decided by the caller or Lineward
// prove nothing.
class HttpHealth {
 public:
  // `version` null: this worker serves the server alone; else its workers share one circuit.
  HttpHealth(net::Loop& loop, const config::Server& server, const std::shared_ptr<SharedVersion>& version)
      : loop_(loop),
        server_(server),
        breaker_(server.circuit_breaker,
                 version ? version->circuit : std::make_shared<CircuitBreaker::State>()) {}

  // Whether a call may be made. True makes it the half-open probe, which shows whether the server is back.
  // The failure means that the circuit is open.
  Result<bool, core::Failure> admit();
  void answered();
  // `probe`: the result of admit().
  void failed(const core::Failure& failure, bool probe);
  // The probe ended without a verdict.
  void probe_withdrawn() { breaker_.withdrawn(); }
  // Another request has shown that the server is back.
  void is_back();
  // Failures from here on are caused by the shutdown, and do not count.
  void stop() { stopping_ = true; }

  bool circuit_closed() const { return breaker_.closed(); }
  // How long the circuit stays open; 0: a probe may be made.
  std::chrono::milliseconds open_for() const { return breaker_.wait(loop_.now()); }
  // The last failure, as a text for clients.
  std::string why() const { return breaker_.why(); }

 private:
  net::Loop& loop_;
  const config::Server& server_;
  CircuitBreaker breaker_;
  bool stopping_ = false;
};

}  // namespace lineward::upstream
