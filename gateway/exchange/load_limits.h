// What all callers together may ask for at once: requests, requests of one principal, bytes held. Refuses
// before a server hears of the request (docs/limits.md).
//
// Owned by the exchange table; one thread. The sum of requests is of all workers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/account.h"
#include "config/config.h"
#include "core/upstream.h"

namespace lineward::exchange {

class LoadLimits {
 public:
  explicit LoadLimits(const config::Listen& limits) : limits_(limits) {}

  // Every request, refused or not, comes in, and goes out where it was counted: a reload may bring the limit
  // while it is under way.
  bool came(const std::string& principal);
  void went(const std::string& principal);

  // Why this one, which came already, goes nowhere. `in_flight` counts it and those of all workers, but no
  // listens; `keeps`: more than its answer is kept of it, a session or a listen; `held` are its own bytes,
  // which count for `account` too.
  std::optional<core::Failure> refusal(size_t in_flight, const std::string& principal, bool stream,
                                       bool keeps, uint64_t held, const Account* account) const;

 private:
  const config::Listen& limits_;
  std::unordered_map<std::string, size_t> by_principal_;  // where there is a limit for it
};

}  // namespace lineward::exchange
