// Deaths of a stdio server's processes, proofs of their life and what follows from both: when the next one
// may be started, and whether calls may wait for it. Keeps a server that dies at once from eating the
// machine, and its callers from waiting for it (docs/limits.md).
//
// Belongs to a StdioUpstream, which is its owner and outlives it.
#pragma once

#include <chrono>
#include <string>

#include "net/lifetime.h"
#include "net/loop.h"
#include "upstream/shared/circuit_breaker.h"
#include "upstream/shared/era_verdict.h"
#include "upstream/stdio/instance_inbox.h"
#include "upstream/stdio/spawn_budget.h"
#include "upstream/stdio/stdio_handshake.h"

namespace lineward::upstream {

class StdioHealthOwner {
 public:
  // The circuit is open: who waits for a process waits for nothing. From the loop.
  virtual void on_circuit_open(const core::Failure& refusal) = 0;

 protected:
  ~StdioHealthOwner() = default;
};

class StdioHealth {
 public:
  StdioHealth(net::Loop& loop, const config::Server& server, StdioHealthOwner& owner)
      : loop_(loop), server_(server), owner_(owner) {}
  StdioHealth(const StdioHealth&) = delete;
  StdioHealth& operator=(const StdioHealth&) = delete;

  // How long no process may be started by who wants none before this time; 0: now.
  std::chrono::milliseconds start_pause(std::chrono::milliseconds not_before);
  void start_begun() { budget_.started(loop_.now()); }
  // A process said something for the first time.
  void answered(Heard what);
  // One ended that was not told to.
  void died(const InstanceRecord& process, const ProcessEnd& end);
  // One that was only started to be asked for its era said nothing.
  void probe_died(const ProcessEnd& end);

  // Whether a call may be made that needs a process to be started: true makes it the half-open probe, which
  // shows whether the server is back.
  bool try_now() { return breaker_.try_now(loop_.now()); }
  core::Failure refusal() const { return breaker_.refusal(server_.name, loop_.now()); }
  // What became of a call that is no half-open probe, and of one that is.
  void call_answered(std::chrono::milliseconds sent_at);
  void probe_answered(std::chrono::milliseconds sent_at);
  void half_open_probe_withdrawn() { breaker_.withdrawn(); }

  // The process that was heard of last had answered something.
  bool is_proven() const { return proven_; }
  // The era was taken from the exit of a process, and none has answered since.
  bool doubts(const EraVerdict& verdict) const { return verdict.is_weak() && !proven_; }
  bool circuit_closed() const { return breaker_.closed(); }
  // How long the circuit stays open; 0: a half-open probe may be made.
  std::chrono::milliseconds open_for() const { return breaker_.wait(loop_.now()); }
  // The last failure, in words for clients.
  const std::string& why() const { return breaker_.why(); }

 private:
  void failed(std::string why);

  net::Loop& loop_;
  const config::Server& server_;
  StdioHealthOwner& owner_;
  CircuitBreaker breaker_{server_.circuit_breaker};
  SpawnBudget budget_{server_.restart};
  bool proven_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
