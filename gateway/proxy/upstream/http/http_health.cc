#include "proxy/upstream/http/http_health.h"

namespace lineward::upstream {

Result<bool, core::Failure> HttpHealth::admit() {
  if (breaker_.closed()) return false;
  if (!breaker_.try_now(loop_.now()))
    return Unexpected<core::Failure>{breaker_.refusal(server_.name, loop_.now())};
  return true;
}

void HttpHealth::answered() {
  breaker_.closed() ? breaker_.succeeded() : is_back();
}

void HttpHealth::failed(const core::Failure& failure, bool probe) {
  if (stopping_) return;
  if (!counts_for_circuit(failure.reason)) {
    const bool server_spoke = failure.server_status > 0 && failure.server_status < 500;
    if (server_spoke) return answered();
    if (probe) breaker_.withdrawn();
    return;
  }
  // The failure of a call that was sent before the circuit opened is no news.
  if (!breaker_.closed() && !probe) return;
  if (breaker_.failed(loop_.now(), failure.text)) breaker_.tell(server_.name);
}

void HttpHealth::is_back() {
  if (breaker_.closed()) return;
  breaker_.close();
  breaker_.tell(server_.name);
}

}  // namespace lineward::upstream
