// The era of a server (behaviour.md 8): the verdict and its expiry, the calls that wait for it, and when the
// server is probed. The transport implements the probe.
//
// Owned by an upstream, which is its ServerEraCallbacks; the upstream and the prober outlive it. Calls are
// plain pointers: each is withdrawn before it is freed. If the server cannot be probed there is no verdict,
// and waiting calls fail with the reason. A refusal of one caller fails only that caller's calls.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "proxy/upstream/shared/era_verdict.h"
#include "proxy/upstream/shared/shared_server.h"
#include "proxy/upstream/shared/transport_call.h"

namespace lineward::upstream {

// Probes the era of a server.
class EraProber {
 public:
  // `failure`: for waiting calls, if the verdict is unknown.
  using Done = std::function<void(EraVerdict verdict, const core::Failure& failure)>;
  // Starts a probe now, or as soon as allowed; never called while it is busy. `first`: the longest waiting
  // call, with credentials that the probe may need; null if none waits. `done` is called once from the loop,
  // or never if the upstream stops.
  virtual void ask(const core::UpstreamRequest* first, Done done) = 0;
  // A probe is in progress, or its process has not ended yet.
  virtual bool is_busy() const = 0;
  // A call waits now: report the verdict at once if it is only to be confirmed.
  virtual void hurry() {}
  // No call waits any more.
  virtual void relax() {}
  // Whether the server's refusal of the probe applies to this request too.
  virtual bool concerns(const core::UpstreamRequest& /*request*/, const core::Failure& /*failure*/) const {
    return true;
  }

 protected:
  ~EraProber() = default;
};

class ServerEraCallbacks {
 public:
  // The probe is over; waiting calls are not notified yet.
  virtual void on_era_verdict(const EraVerdict& /*verdict*/) {}
  // The era is known, and this call waited for it.
  virtual void on_era_known(TransportCall& call) = 0;

 protected:
  ~ServerEraCallbacks() = default;
};

class ServerEra {
 public:
  ServerEra(net::Loop& loop, const config::Server& server, EraProber& prober, ServerEraCallbacks& owner);
  ServerEra(const ServerEra&) = delete;
  ServerEra& operator=(const ServerEra&) = delete;

  // This worker's verdict, or if it has none, that of another worker.
  const EraVerdict& verdict() const {
    if (shared_ && !verdict_.known) adopt();
    return verdict_;
  }
  // The assumed era: legacy while unknown.
  mcp::Era era() const { return verdict().era; }
  bool is_known() const { return verdict().known; }
  bool is_modern() const { return is_known() && verdict_.era == mcp::Era::modern; }
  std::optional<mcp::Era> known_era() const {
    return is_known() ? std::optional(verdict_.era) : std::nullopt;
  }
  // Known and not expired.
  bool is_current() const { return is_known() && loop_.now() <= expires_; }
  // The refusal of a request that is for a server of the other era only; nullopt: it may be sent.
  std::optional<core::Failure> refusal(const core::UpstreamRequest& request) const;
  // The revisions that clients may use with it; nullopt while unknown.
  std::optional<std::vector<std::string>> versions() const;

  // It is a Lineward: it speaks both eras, and is never probed.
  void assume_both();
  bool is_certain() const { return certain_; }
  // For a server that all workers serve: the verdict of one worker is published to the others.
  void share(SharedPart part);
  // For a server on this worker alone: the others know what era it is of. At most once.
  void publish_to(std::shared_ptr<HomeEra> known);
  // Takes the verdict of an earlier life of Lineward, if the server is not known yet. The owner forgets it if
  // a process shows another era.
  void assume(const EraVerdict& verdict);
  // Probes now rather than at the first call; `ready` (may be empty) is called once with the verdict.
  void warm_up(std::function<void(const EraVerdict&)> ready);
  // Starts a probe, unless one is in progress.
  void ask();
  // The prober is no longer busy: probes again if calls still wait.
  void prober_free();
  // The server behaves differently: it may have been replaced. The next call probes again.
  void forget() {
    if (certain_) return;
    verdict_.known = false;
    was_initialized_ = false;
    handshake_revision_.clear();
    if (shared_) doubted_ = shared_.server->verdict();
  }
  // The server has answered an `initialize` with a result: it is legacy unless a probe shows otherwise.
  void note_initialized();
  // The revision with which it accepts `initialize`, if it refused Lineward's own; empty: none.
  const std::string& handshake_revision() const { return handshake_revision_; }
  void note_handshake_revision(std::string_view revision) { handshake_revision_ = revision; }

  // Waits for the verdict; starts a probe at the end of the turn.
  void wait(TransportCall& call);
  void withdraw(TransportCall& call) {
    if (std::erase(waiting_, &call) > 0 && waiting_.empty()) prober_.relax();
  }
  size_t waiting() const { return waiting_.size(); }
  // Stops probing. The caller must end the returned calls.
  std::deque<TransportCall*> stop();

 private:
  void adopt() const;
  void publish();
  void decide(EraVerdict verdict, const core::Failure& failure);
  void fail(std::deque<TransportCall*> waited, const core::Failure& failure);

  net::Loop& loop_;
  const config::Server& server_;
  SharedPart shared_;
  std::shared_ptr<HomeEra> home_;
  uint64_t version_ = 0;                       // in home_
  std::shared_ptr<const EraVerdict> doubted_;  // of another worker, before this one forgot its own
  EraProber& prober_;
  ServerEraCallbacks& owner_;
  mutable EraVerdict verdict_;
  mutable std::chrono::milliseconds expires_{0};
  std::function<void(const EraVerdict&)> on_ready_;
  std::deque<TransportCall*> waiting_;
  bool was_initialized_ = false;
  bool certain_ = false;
  std::string handshake_revision_;
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
