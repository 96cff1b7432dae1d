#include "proxy/upstream/http/http_health.h"

#include <fmt/format.h>

namespace lineward::upstream {

using mcp::EndReason;

// A client can act on 401, 403 and 429 only if its own credentials were forwarded. Otherwise they concern
// Lineward's, and would make the client log in at the wrong server (behaviour.md 11, authorization for the
// plain sidecar).
core::Failure HttpFailures::of(const MessagesEnd& end) const {
  core::Failure failure{end.fault.reason, fmt::format("{} {}", server_.name, end.fault.text),
                        end.fault.limit_ms};
  failure.server_status = end.status;
  failure.nothing_sent = end.fault.nothing_sent;
  const bool of_client = end.status == 401 || end.status == 403 || end.status == 429;
  if (!of_client) return failure;
  if (are_of_clients()) {
    failure.headers = end.challenge;
  } else {
    failure.reason = end.status == 429 ? EndReason::upstream_unreachable : EndReason::upstream_protocol;
  }
  return failure;
}

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
