// How many calls one server has and may have (limits.maxInFlight and limits.maxQueue together), and each
// caller's share of these. Both transports ask here, before a call begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "config/config.h"
#include "core/upstream.h"
#include "upstream/shared/caller_shares.h"

namespace lineward::upstream {

class CallPlaces {
 public:
  explicit CallPlaces(const config::Server& server) : server_(server) {}
  CallPlaces(const CallPlaces&) = delete;
  CallPlaces& operator=(const CallPlaces&) = delete;

  // Why one more call gets no place beside `calls` that the transport has; nothing: it does.
  std::optional<core::Failure> refusal(const core::CallRequest& request, uint64_t calls) const;
  // For a call that waits in front of the transport (core::Upstream::wait_in_front).
  Result<std::unique_ptr<core::WaitingPlace>, core::Failure> wait_in_front(const core::CallRequest& request,
                                                                           uint64_t calls);
  CallerShares& shares() { return shares_; }

 private:
  class Held;
  const config::Server& server_;
  CallerShares shares_;
  uint64_t in_front_ = 0;  // of them, those that wait in front
};

}  // namespace lineward::upstream
