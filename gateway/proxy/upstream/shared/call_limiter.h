// Counts the calls of one server against limits.maxInFlight plus limits.maxQueue, and each caller's share.
// Both transports check it before a call begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "config/config.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/shared/caller_shares.h"

namespace lineward::upstream {

class CallLimiter {
 public:
  // `version` null: this worker serves the server alone.
  explicit CallLimiter(const config::Server& server, std::shared_ptr<SharedVersion> version = nullptr)
      : server_(server), shares_(std::move(version)) {}
  CallLimiter(const CallLimiter&) = delete;
  CallLimiter& operator=(const CallLimiter&) = delete;

  // Why one more call is refused when the transport has `calls`; nullopt: it is accepted. If all workers
  // serve the server, the calls of all count instead.
  std::optional<core::Failure> refusal(const core::UpstreamRequest& request, uint64_t calls) const;
  // For a call that waits in front of the transport (core::Upstream::wait_in_front).
  Result<std::unique_ptr<core::WaitingPermit>, core::Failure> wait_in_front(
      const core::UpstreamRequest& request, uint64_t calls);
  CallerShares& shares() { return shares_; }

 private:
  class Held;
  const config::Server& server_;
  CallerShares shares_;
  uint64_t in_front_ = 0;  // calls that wait in front of the transport
};

}  // namespace lineward::upstream
