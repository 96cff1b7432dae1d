// The health of a stdio server: deaths of its processes and proofs of life. Decides when the next process may
// be started, and whether calls may wait for it. Protects the machine and the callers from a server that dies
// at once (docs/limits.md).
//
// Belongs to a StdioUpstream.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "config/config.h"
#include "foundation/base/backoff.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "proxy/upstream/shared/circuit_breaker.h"
#include "proxy/upstream/shared/era_verdict.h"

namespace lineward::upstream {

// Proof given by a message of a process.
enum class HealthSignal : uint8_t {
  handshake,  // the process runs
  work        // it does work for clients
};

// Proof that a process has given so far.
struct InstanceRecord {
  std::chrono::milliseconds started_at{0};
  std::chrono::milliseconds last_used{0};
  bool was_ready = false;
  bool has_answered = false;  // anything; being ready says nothing about a modern one
  bool has_served = false;    // a call that is real work (Proof::served)
};

// The pause after this number of failures in a row, with jitter.
inline std::chrono::milliseconds backoff_after(const config::Restart& restart, uint32_t failures) {
  if (failures == 0) return std::chrono::milliseconds(0);
  return Backoff::jittered(Backoff::exact({restart.backoff, restart.max_backoff}, failures - 1));
}

// Proof that a process had given when it ended.
enum class Proof : uint8_t {
  none,
  answered,  // any answer, such as its handshake
  served,    // it answered a call that is real work: not a handshake, a ping or a list
};

// How fast the processes of one server may be started, over all its groups. Three rules: a doubling pause
// while no process answers, at most one start a second while processes die young, and four a second while
// processes die after work. So a crash in the middle of a call costs the next caller little more than a
// start. No clock of its own.
class SpawnBudget {
 public:
  using milliseconds = std::chrono::milliseconds;
  // A process that lived this long started properly.
  static constexpr milliseconds kStable{10000};
  static constexpr double kBurst = 10;  // deaths in a row before starts are rationed
  // Starts a second from then on.
  static constexpr double kAfterYoung = 1;
  static constexpr double kAfterServed = 4;

  explicit SpawnBudget(const config::Restart& restart) : restart_(restart) {}

  // Time until the next start; 0: now.
  milliseconds wait(milliseconds now) {
    bool pauses = failures_ > 0 && now < not_before_;
    return std::max(ration(now), pauses ? not_before_ - now : milliseconds(0));
  }
  // The same without the doubling pause.
  milliseconds ration(milliseconds now) { return std::max(after_young_.wait(now), after_served_.wait(now)); }

  void started(milliseconds now) {
    // While no process answers, one start at a time is enough.
    if (failures_ > 0) not_before_ = now + backoff_after(restart_, failures_ + 1);
    after_young_.started(now);
    after_served_.started(now);
  }

  // A process ended that was not stopped.
  void died(milliseconds now, Proof proof, milliseconds lived) {
    if (proof != Proof::none && lived >= kStable) return;
    if (proof == Proof::served) return after_served_.take(now);
    after_young_.take(now);
    if (proof == Proof::answered) return;
    // Several failures within half a backoff count as one.
    if (failures_ == 0 || now >= died_at_ + restart_.backoff / 2) ++failures_;
    died_at_ = now;
    not_before_ = std::max(not_before_, now + backoff_after(restart_, failures_));
  }

  // A process answered for the first time.
  void answered() { failures_ = 0; }
  uint32_t failures() const { return failures_; }

 private:
  // A token bucket: each death takes a token. A start needs one, and takes it if few are left.
  class Ration {
   public:
    explicit Ration(double a_second) : a_second_(a_second) {}
    milliseconds wait(milliseconds now) {
      refill(now);
      return tokens_ < 1 ? milliseconds(static_cast<int64_t>((1 - tokens_) * 1000 / a_second_) + 1)
                         : milliseconds(0);
    }
    void take(milliseconds now) {
      refill(now);
      tokens_ = std::max(0.0, tokens_ - 1);
    }
    void started(milliseconds now) {
      refill(now);
      if (tokens_ < kBurst / 2) tokens_ = std::max(0.0, tokens_ - 1);
    }

   private:
    void refill(milliseconds now) {
      tokens_ = std::min(kBurst, tokens_ + static_cast<double>((now - refilled_).count()) * a_second_ / 1000);
      refilled_ = now;
    }

    double a_second_;
    double tokens_ = kBurst;
    milliseconds refilled_{0};
  };

  const config::Restart& restart_;
  Ration after_young_{kAfterYoung};
  Ration after_served_{kAfterServed};
  uint32_t failures_ = 0;
  milliseconds not_before_{0};
  milliseconds died_at_{0};
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
  void answered(HealthSignal what);
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
  std::string why() const { return breaker_.why(); }

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
