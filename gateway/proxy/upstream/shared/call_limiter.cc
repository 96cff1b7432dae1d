#include "proxy/upstream/shared/call_limiter.h"

#include <fmt/format.h>

#include "proxy/metrics/limits.h"

namespace lineward::upstream {

class CallLimiter::Held final : public core::WaitingPermit {
 public:
  Held(CallLimiter& places, const core::UpstreamRequest& request) : limiter_(places) {
    ++limiter_.in_front_;
    place_.take(limiter_.shares_, request.account());
  }
  ~Held() override { --limiter_.in_front_; }

 private:
  CallLimiter& limiter_;
  CallerShares::Place place_;
};

std::optional<core::Failure> CallLimiter::refusal(const core::UpstreamRequest& request,
                                                  uint64_t calls) const {
  if (shares_.calls_of_all().value_or(calls + in_front_) >=
      uint64_t{server_.limits.max_in_flight} + server_.limits.max_queue) {
    metrics::limit_reached(metrics::Limit::queue);
    return core::Failure{mcp::EndReason::queue_full,
                         fmt::format("{} calls wait for {} already (limits.maxQueue)",
                                     server_.limits.max_queue, server_.name)};
  }
  return shares_.refusal(request, server_);
}

Result<std::unique_ptr<core::WaitingPermit>, core::Failure> CallLimiter::wait_in_front(
    const core::UpstreamRequest& request, uint64_t calls) {
  if (auto full = refusal(request, calls)) return Unexpected<core::Failure>{std::move(*full)};
  return std::unique_ptr<core::WaitingPermit>(std::make_unique<Held>(*this, request));
}

}  // namespace lineward::upstream
