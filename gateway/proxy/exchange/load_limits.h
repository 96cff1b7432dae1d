// Global load limits: requests in flight, requests per principal, bytes held. Requests are refused before a
// server receives them (docs/limits.md).
//
// Owned by the exchange table; one thread. The sum of requests is over all workers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "config/config.h"
#include "foundation/base/account.h"
#include "proxy/core/upstream.h"

namespace lineward::exchange {

class LoadLimits {
 public:
  explicit LoadLimits(const config::Listen& limits) : limits_(limits) {}

  // Every request is counted in, refused or not. Call went() only if came() returned true: a reload may set a
  // limit while a request is in flight.
  bool came(const std::string& principal);
  void went(const std::string& principal);

  // Why this request, already counted, is refused. `in_flight`: with this request, over all workers, without
  // listens. `keeps`: it opens a session or a listen, which outlives its answer. `held`: its own bytes, which
  // also count for `account`.
  std::optional<core::Failure> refusal(size_t in_flight, const std::string& principal, bool stream,
                                       bool keeps, uint64_t held, const Account* account) const;

 private:
  const config::Listen& limits_;
  std::unordered_map<std::string, size_t> by_principal_;  // of the principals with a limit
};

}  // namespace lineward::exchange
