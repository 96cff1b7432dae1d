#include "proxy/upstream/http/http_failures.h"

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
  const bool of_client = end.status == 401 || end.status == 403 || end.status == 429;
  if (!of_client) return failure;
  if (are_of_clients()) {
    failure.headers = end.challenge;
  } else {
    failure.reason = end.status == 429 ? EndReason::upstream_unreachable : EndReason::upstream_protocol;
  }
  return failure;
}

}  // namespace lineward::upstream
