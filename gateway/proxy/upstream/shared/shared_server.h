// A server that all workers serve, each with connections of its own (docs/workers.md). It keeps nothing for
// callers without a session, and a session stays on the worker that opened it. So these are only the limits
// and the facts that count for all workers.
//
// SharedServer lives as long as the server's name has a place. A SharedVersion belongs to one version of it:
// a reload that replaces the server begins with fresh counts. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "foundation/base/account.h"
#include "foundation/net/mailbox.h"
#include "proxy/upstream/shared/circuit_breaker.h"
#include "proxy/upstream/shared/era_verdict.h"
#include "proxy/upstream/shared/known_era.h"
#include "proxy/upstream/shared/shared_slots.h"
#include "proxy/upstream/shared/told_changes.h"

namespace lineward::upstream {

struct SharedVersion {
  const std::shared_ptr<SharedSlots> in_flight = std::make_shared<SharedSlots>();  // limits.maxInFlight
  std::atomic<uint64_t> calls{0};                                                  // waiting calls included
  std::atomic<uint64_t> sessions{0};                                               // limits.maxSessions
  const std::shared_ptr<CircuitBreaker::State> circuit = std::make_shared<CircuitBreaker::State>();
  const std::shared_ptr<ToldChanges> changes = std::make_shared<ToldChanges>();
  // The server gives ids to sessions, as one of the workers has seen.
  enum class Sessions : uint8_t { unknown, none, kept };
  std::atomic<Sessions> keeps_sessions{Sessions::unknown};
  const Account::ServerNumber number;  // of its calls in the accounts of callers
};

class SharedServer final : public KnownEra {
 public:
  SharedServer() = default;
  SharedServer(const SharedServer&) = delete;
  SharedServer& operator=(const SharedServer&) = delete;

  // The version in effect. The first worker that joins begins it.
  std::shared_ptr<SharedVersion> join();
  // A worker has retired this version: workers that join from now on begin a new one.
  void retire(const std::shared_ptr<SharedVersion>& version);

  // Publishes the era that one of the workers has found out; the verdict is a known one. A verdict on a
  // retired version is ignored.
  void publish(const std::shared_ptr<SharedVersion>& version, const EraVerdict& verdict);
  // Null while no worker knows it.
  std::shared_ptr<const EraVerdict> verdict() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<SharedVersion> version_;
  std::shared_ptr<const EraVerdict> verdict_;
};

// The part of one worker in a version of a shared server. `server` null: this worker serves it alone.
struct SharedPart {
  std::shared_ptr<SharedServer> server;
  std::shared_ptr<net::Mailbox> mailbox;  // of this worker
  size_t worker = 0;                      // this one
  size_t home = 0;                        // the worker that has what must exist only once
  size_t workers = 1;

  std::shared_ptr<SharedVersion> version{server ? server->join() : nullptr};

  explicit operator bool() const { return server != nullptr; }
};

}  // namespace lineward::upstream
