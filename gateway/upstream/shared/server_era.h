// Which era a server speaks (behaviour.md 8): the verdict and its expiry, the calls that wait for it, and
// when the server is asked. How it is asked is its transport's business.
//
// Owned by an upstream, which is its ServerEraOwner and outlives it, as the prober does. Calls are plain
// pointers: each is withdrawn before it is freed. A server that cannot be asked leaves no verdict, and the
// calls that waited fail with the reason; what it refuses to one caller alone fails the calls of that one.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/lifetime.h"
#include "net/loop.h"
#include "upstream/shared/era_verdict.h"
#include "upstream/shared/transport_call.h"

namespace lineward::upstream {

// Asks a server for its era.
class EraProber {
 public:
  // `failure`: of those who wait, where the verdict is not known.
  using Done = std::function<void(EraVerdict verdict, const core::Failure& failure)>;
  // Asks now, or as soon as it may; never while it is busy. `first`: the call that has waited longest, in
  // whose name a server may have to be asked; null where none waits. `done` is called once from the loop, or
  // never where the upstream stops.
  virtual void ask(const core::CallRequest* first, Done done) = 0;
  // The server is being asked, or what it took is not over yet.
  virtual bool is_busy() const = 0;
  // Somebody waits now: what is known is told, where only certainty was missing.
  virtual void hurry() {}
  // Nobody does any more.
  virtual void relax() {}
  // Whether what the server refused to the one in whose name it was asked is refused to this one too.
  virtual bool concerns(const core::CallRequest& /*request*/, const core::Failure& /*failure*/) const {
    return true;
  }

 protected:
  ~EraProber() = default;
};

class ServerEraOwner {
 public:
  // The server was asked; those who wait are not told yet.
  virtual void on_era_verdict(const EraVerdict& /*verdict*/) {}
  // The era is known, and this call waited for it.
  virtual void on_era_known(TransportCall& call) = 0;

 protected:
  ~ServerEraOwner() = default;
};

class ServerEra {
 public:
  ServerEra(net::Loop& loop, const config::Server& server, EraProber& prober, ServerEraOwner& owner);
  ServerEra(const ServerEra&) = delete;
  ServerEra& operator=(const ServerEra&) = delete;

  const EraVerdict& verdict() const { return verdict_; }
  // What the server is taken for; legacy as long as nobody knows.
  mcp::Era era() const { return verdict_.era; }
  bool is_known() const { return verdict_.known; }
  bool is_modern() const { return verdict_.known && verdict_.era == mcp::Era::modern; }
  std::optional<mcp::Era> known_era() const {
    return verdict_.known ? std::optional(verdict_.era) : std::nullopt;
  }
  // Known, and not so long ago that it has to be asked again.
  bool is_current() const { return verdict_.known && loop_.now() <= expires_; }
  // Why a request is not for this server: it is for one of the other era alone.
  std::optional<core::Failure> refusal(const core::CallRequest& request) const;
  // The revisions that clients may speak to it; nothing while its era is unknown.
  std::optional<std::vector<std::string>> versions() const;

  // Asks now rather than at the first call; `ready` (may be empty) hears the verdict once.
  void warm_up(std::function<void(const EraVerdict&)> ready);
  // Does nothing while it is being asked.
  void ask();
  // The prober is no longer busy: asks again where somebody waits in vain.
  void prober_free();
  // It behaves like another server than it was: the next call asks again.
  void forget() {
    verdict_.known = false;
    was_initialized_ = false;
    handshake_revision_.clear();
  }
  // The server has answered somebody's `initialize` with a result: it is legacy unless it says otherwise.
  void note_initialized();
  // With which revision it takes `initialize`, where it refused Lineward's own; empty: it has not.
  const std::string& handshake_revision() const { return handshake_revision_; }
  void note_handshake_revision(std::string_view revision) { handshake_revision_ = revision; }

  // Until the verdict is there; asks for it at the end of the turn.
  void wait(TransportCall& call);
  void withdraw(TransportCall& call) {
    if (std::erase(waiting_, &call) > 0 && waiting_.empty()) prober_.relax();
  }
  size_t waiting() const { return waiting_.size(); }
  // Asks no more. Those that wait are for the caller to end.
  std::deque<TransportCall*> stop();

 private:
  void decide(EraVerdict verdict, const core::Failure& failure);
  void fail(std::deque<TransportCall*> waited, const core::Failure& failure);

  net::Loop& loop_;
  const config::Server& server_;
  EraProber& prober_;
  ServerEraOwner& owner_;
  EraVerdict verdict_;
  std::chrono::milliseconds expires_{0};
  std::function<void(const EraVerdict&)> on_ready_;
  std::deque<TransportCall*> waiting_;
  bool was_initialized_ = false;
  std::string handshake_revision_;
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
