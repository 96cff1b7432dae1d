// The health of a stdio server: deaths of its processes and proofs of life. Decides when the next process may
// be started, and whether calls may wait for it. Protects the machine and the callers from a server that dies
// at once (docs/limits.md).
//
// Belongs to a StdioUpstream.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "proxy/upstream/shared/circuit_breaker.h"
#include "proxy/upstream/shared/era_verdict.h"
#include "proxy/upstream/stdio/spawn_budget.h"

namespace lineward::upstream {

// Proof given by a message of a process.
enum class Heard : uint8_t {
  handshake,  // the process runs
  work        // it does work for clients
};

// Proof that a process has given so far.
struct InstanceRecord {
  std::chrono::milliseconds started_at{0};
  std::chrono::milliseconds last_used{0};
  bool was_ready = false;
  bool has_answered = false;  // anything; being ready says nothing about a modern one
  bool has_served = false;    // a call that is real work (spawn_budget.h)
};

class StdioHealth {
 public:
  // `refused` is called from the loop when the circuit is open: calls that wait for a process are refused.
  using Refused = std::function<void(const core::Failure& refusal)>;
  StdioHealth(net::Loop& loop, const config::Server& server, Refused refused)
      : loop_(loop), server_(server), refused_(std::move(refused)) {}

  // Time until a process may be started, at or after `not_before`; 0: now.
  std::chrono::milliseconds start_pause(std::chrono::milliseconds not_before);
  void start_begun() { budget_.started(loop_.now()); }
  // A process answered for the first time.
  void answered(Heard what);
  // A process ended that was not stopped.
  void died(const InstanceRecord& process, const ProcessEnd& end);
  // A probe process ended without an answer.
  void probe_died(const ProcessEnd& end);

  // Whether a call may be made that needs a new process. True makes it the half-open probe, which shows
  // whether the server is back.
  bool try_now() { return breaker_.try_now(loop_.now()); }
  core::Failure refusal() const { return breaker_.refusal(server_.name, loop_.now()); }
  // Outcomes: of a normal call, and of the half-open probe.
  void call_answered(std::chrono::milliseconds sent_at);
  void probe_answered(std::chrono::milliseconds sent_at);
  void half_open_probe_withdrawn() { breaker_.withdrawn(); }

  // The last process that reported anything had answered.
  bool is_proven() const { return proven_; }
  // The era was derived from the exit of a process, and none has answered since.
  bool doubts(const EraVerdict& verdict) const { return verdict.is_weak() && !proven_; }
  bool circuit_closed() const { return breaker_.closed(); }
  // How long the circuit stays open; 0: a half-open probe may be made.
  std::chrono::milliseconds open_for() const { return breaker_.wait(loop_.now()); }
  // The last failure, as a text for clients.
  const std::string& why() const { return breaker_.why(); }

 private:
  void failed(std::string why);

  net::Loop& loop_;
  const config::Server& server_;
  const Refused refused_;
  CircuitBreaker breaker_{server_.circuit_breaker};
  SpawnBudget budget_{server_.restart};
  bool proven_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
