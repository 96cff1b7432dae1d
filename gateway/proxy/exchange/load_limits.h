// Global load limits: requests in flight, requests per principal, bytes held. Requests are refused before a
// server receives them (docs/limits.md).
//
// Owned by the exchange table; one thread. The sums of requests are over all workers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "config/config.h"
#include "foundation/base/account.h"
#include "proxy/core/upstream.h"

namespace lineward::exchange {

// The requests in flight on all workers, without listens. Any thread. The lock is taken when a worker sees a
// principal for the first time.
class InFlight {
 public:
  using Count = std::atomic<uint32_t>;

  std::atomic<size_t> requests{0};
  // The requests of one principal: the same count for all workers, while one of them has it.
  std::shared_ptr<Count> of(const std::string& principal);
  // Principals in the table, with some that are gone.
  size_t known();

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<Count>> by_principal_;
  size_t look_for_gone_at_ = 64;
};

class LoadLimits {
 public:
  explicit LoadLimits(const config::Listen& limits) : limits_(limits) {}

  void share(std::shared_ptr<InFlight> all) { all_ = std::move(all); }
  InFlight& all() { return *all_; }

  // Every request is counted in, refused or not. Call went() only if came() returned true: a reload may set a
  // limit while a request is in flight.
  bool came(const std::string& principal);
  void went(const std::string& principal);

  // Why this request, already counted, is refused. `keeps`: it opens a session or a listen, which outlives
  // its answer. `held`: its own bytes, which also count for `account`.
  std::optional<core::Failure> refusal(const std::string& principal, bool stream, bool keeps, uint64_t held,
                                       const Account* account) const;

 private:
  const config::Listen& limits_;
  // Principals that this worker has seen. While they are few, it keeps those without a request too.
  struct Principal {
    std::shared_ptr<InFlight::Count> on_all;
    size_t here = 0;
  };
  static constexpr size_t kMostKept = 1024;
  std::shared_ptr<InFlight> all_ = std::make_shared<InFlight>();
  std::unordered_map<std::string, Principal> by_principal_;
};

}  // namespace lineward::exchange
